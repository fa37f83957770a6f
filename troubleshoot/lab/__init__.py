"""What runs things: verification cases, edits, audits, watched and checked programs, fixes tried on the user's program."""
