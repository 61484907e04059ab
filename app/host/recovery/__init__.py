"""Leases and the ends of runs whose process is gone (P7)."""
