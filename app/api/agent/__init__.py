"""The Agent API, version 1: bearer tokens, one file a noun."""
