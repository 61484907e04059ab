"""Repeatable measurements of the service beside a bare proxy and a raw client; `python -m bench.run`."""
