"""Shipped capability packages: one folder each, found by the catalog."""
