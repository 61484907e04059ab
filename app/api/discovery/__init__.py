"""How strangers find out what the service offers, before they have a token."""
