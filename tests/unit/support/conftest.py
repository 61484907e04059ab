from tests.support.fixtures import redis

__all__ = ["redis"]
