"""What each command of the program does, imported only when that command runs."""
