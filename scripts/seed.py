"""Example data for a first look, written through the services as a user's own acts (`make seed`).

The service must be stopped, as one process at a time serves a data folder. The runs are the demo model's,
whatever DESKMATE_MODELS says: nothing is sent anywhere and nothing costs money.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from app.catalog.catalog import load_catalog
from app.cli.schema import make_ready
from app.errors import DeskmateError
from app.factory import open_host
from app.host.host import Host
from app.logs import configure_logging
from app.protocol.identity import Principal
from app.protocol.ids import UserId
from app.settings import load_settings

CONVERSATIONS = (
    ("Adding fractions", "I always get 3/4 + 1/8 wrong. How do I add fractions?"),
    ("Past tense", "When do I say 'have seen', and when 'saw'?"),
    ("古诗背诵", "请帮我记住《静夜思》。"),
)
MISTAKES: tuple[dict[str, Any], ...] = (
    {
        "question": "3/4 + 1/8 = ?",
        "answer": "4/12",
        "correct_answer": "7/8",
        "cause": "Added the denominators too.",
        "subject": "mathematics",
        "tags": ["fractions"],
    },
    {
        "question": "Put into the past tense: I see him yesterday.",
        "answer": "I have seen him yesterday.",
        "correct_answer": "I saw him yesterday.",
        "cause": "A finished time asks for the simple past.",
        "subject": "English",
        "tags": ["tenses"],
    },
    {
        "question": "解方程：x² − 5x + 6 = 0",
        "answer": "x = 2",
        "correct_answer": "x = 2 或 x = 3",
        "cause": "漏了一个根。",
        "subject": "数学",
        "tags": ["一元二次方程"],
    },
)
FACTS: tuple[dict[str, Any], ...] = (
    {"content": "Is in the seventh grade.", "tags": ["school"]},
    {"content": "Wants a hint first and the solution only when asked for.", "tags": ["learning"]},
)


async def seed(email: str) -> str:
    """Fills the database of the settings for its first user, or for `email` where there is none yet.

    Returns one sentence on what was done. A second time nothing is added.
    """
    settings = load_settings().model_copy(update={"models": None})
    await make_ready(settings, load_catalog(settings.capabilities))
    async with open_host(settings) as host:
        user = await host.identity.first_user() or await host.identity.add_user(email)
        principal = Principal(UserId(user.id), "api", frozenset({"*"}), user.email)
        there = await host.sessions.list(principal, limit=50, cursor=None, q=CONVERSATIONS[0][0])
        if there["sessions"]:
            return f"{user.email} has the examples already."
        for title, question in reversed(CONVERSATIONS):
            await _converse(host, principal, title, question)
        for mistake in MISTAKES:
            await host.invocations.invoke(principal, "mistakes::add", mistake)
        for fact in FACTS:
            await host.invocations.invoke(principal, "memory::save", fact)
    return (
        f"{user.email} has {len(CONVERSATIONS)} conversations, {len(MISTAKES)} mistakes and {len(FACTS)} "
        "memories now."
    )


async def _converse(host: Host, principal: Principal, title: str, question: str) -> None:
    session = await host.sessions.create(principal, title=title)
    parts = [{"type": "text", "text": question}]
    run = await host.runs.start(principal, session["id"], parts, idempotency_key=None, body_digest="")
    async for _ in await host.runs.open_stream(principal, run.run_id, 0):
        pass  # to its end


def main() -> None:
    reader = argparse.ArgumentParser(description="Put example data into an installation.")
    reader.add_argument("--user", default="learner@localhost", help="made where there is no user yet")
    configure_logging()
    try:
        print(asyncio.run(seed(reader.parse_args().user)))
    except DeskmateError as error:
        sys.exit(f"{error.code}: {error.message}")


if __name__ == "__main__":
    main()
