"""Names to files, checked."""
