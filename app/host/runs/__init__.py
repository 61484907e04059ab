"""Runs: start, drive, follow, cancel."""
