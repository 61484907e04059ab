"""The browser's door: the same services as the Agent API, under a cookie."""
