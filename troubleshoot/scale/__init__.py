"""Long logs and many reports."""
