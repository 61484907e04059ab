from tests.support.fixtures import database, installation, stub

__all__ = ["database", "installation", "stub"]
