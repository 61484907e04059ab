"""Deskmate: one conversational agent with controlled tools. See docs/architecture.md."""

__version__ = "0.1.0"
