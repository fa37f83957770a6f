"""What every room needs: dtypes, versions, names, errors, patterns over pasted text, redaction, files written whole, limits of time."""
