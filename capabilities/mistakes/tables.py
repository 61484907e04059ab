"""The notebook's one table."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, Integer, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.sdk import Instant, OwnedMixin, package_base

Base = package_base("mistakes")


class Entry(OwnedMixin, Base):
    __tablename__ = "entries"
    __table_args__ = (Index("ix_pkg_mistakes_entries_owner_id_id", "owner_id", "id"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Sorts by time of making, so that it serves as page key too."""
    question: Mapped[str] = mapped_column(Text)
    answer: Mapped[str] = mapped_column(Text)
    correct_answer: Mapped[str] = mapped_column(Text)
    cause: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(String(64))
    tags: Mapped[str] = mapped_column(Text)
    """One a line, with a line break before the first and after the last: `LIKE` finds a whole tag."""
    search_text: Mapped[str] = mapped_column(Text)
    """All text, folded, so that both databases compare alike and one LIKE looks everywhere."""
    source_file_id: Mapped[str | None] = mapped_column(String(64))
    archived_at: Mapped[datetime | None] = mapped_column(Instant)
    created_at: Mapped[datetime] = mapped_column(Instant)
    updated_at: Mapped[datetime] = mapped_column(Instant)
    version: Mapped[int] = mapped_column(Integer, default=1)
