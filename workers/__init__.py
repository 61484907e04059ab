"""Worker processes for long work."""
