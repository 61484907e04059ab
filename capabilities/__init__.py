"""Shipped capability packages, one folder each."""
