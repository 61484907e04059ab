"""Loaded by the catalog under a name of its own; this file only marks the folder for tools."""
