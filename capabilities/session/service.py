"""Which conversation a user means."""

from app.sdk import Conflict, InvalidInput, NotFoundHere, ReadTx, SessionFacts, SessionsHandle

_SHOWN = 5


async def the_one(sessions: SessionsHandle, tx: ReadTx, wanted: str) -> SessionFacts:
    """The one conversation that an id, the beginning of one, or a title names.

    Raises:
        NotFoundHere: none fits.
        Conflict: several do; the message lists them so that the user can choose.
    """
    found = await sessions.find(tx, wanted)
    exact = [session for session in found if wanted in (session.id, session.title)]
    candidates = exact or list(found)
    if not candidates:
        raise NotFoundHere("There is no such conversation.")
    if len(candidates) > 1:
        listed = "; ".join(f"{session.id} ({session.title})" for session in candidates[:_SHOWN])
        raise Conflict(f"Several conversations fit: {listed}. Ask which one, then use its id.")
    return candidates[0]


def own_session(asked: str, current: str | None) -> str:
    """The conversation to rename: the one asked for, else the one under way."""
    wanted = asked or current
    if not wanted:
        raise InvalidInput("No conversation is under way: name one in session_id.")
    return wanted
