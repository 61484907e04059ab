"""Capability packages: found, checked, bound, and called through the gate alone."""
