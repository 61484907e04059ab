"""Wake-ups between the parts of one process and between processes. The tables are the truth.

`LocalBus` serves one process; `RedisBus` also tells the others over Redis pub/sub.
"""

from app.host.bus.local import LocalBus
from app.host.bus.over_redis import RedisBus

__all__ = ["LocalBus", "RedisBus"]
