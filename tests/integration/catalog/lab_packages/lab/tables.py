"""One row for each thing counted."""

from sqlalchemy import Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from app.sdk import OwnedMixin, package_base

Base = package_base("lab")


class Count(OwnedMixin, Base):
    __tablename__ = "counts"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    amount: Mapped[int] = mapped_column(Integer)
