"""Background work on a durable job table."""
