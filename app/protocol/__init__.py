"""The words that all rooms share, as frozen types and ports. Imports `app.errors` only."""
