"""Who is calling (H1): accounts, passwords, bearer tokens."""
