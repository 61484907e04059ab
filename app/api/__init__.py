"""All that speaks HTTP, and no business rule: a route resolves the caller, calls one service, answers."""
