"""The event log: nothing is shown before it is committed (P2).

`RunLog` collects what one run says; `GroupWriter` commits what waits, all runs together; `follow`
reads committed lines. `postgres` and `sqlite` hold the statements.
"""

from app.host.event_log.batch import Batch, Finish, ItemRow, LineRow, RunStart, RunStarted
from app.host.event_log.log import RunLog
from app.host.event_log.writer import GroupWriter, LogStore

__all__ = [
    "Batch",
    "Finish",
    "GroupWriter",
    "ItemRow",
    "LineRow",
    "LogStore",
    "RunLog",
    "RunStart",
    "RunStarted",
]
