"""Accounts and tokens from the command line. They work beside a running server."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from app.catalog.catalog import load_catalog
from app.cli.schema import make_ready
from app.errors import InvalidParams
from app.host.identity.service import IdentityService
from app.settings import load_settings
from app.storage.database import Database


@asynccontextmanager
async def _identity() -> AsyncGenerator[IdentityService]:
    settings = load_settings()
    catalog = load_catalog(settings.capabilities)
    await make_ready(settings, catalog)
    database = Database.open(settings.database_url, pool_size=1)
    try:
        yield IdentityService(
            database=database, clock=lambda: datetime.now(UTC), package_scopes=catalog.scopes
        )
    finally:
        await database.aclose()


async def add_user(email: str, *, password_stdin: bool, operator: bool) -> None:
    password = _read_password() if password_stdin else None
    async with _identity() as identity:
        user = await identity.add_user(email, password, operator=operator)
    print(f"Added {'operator' if operator else 'user'} {user.email}.")


async def create_token(
    email: str, scopes: Sequence[str], *, expires_days: int, operator: bool, name: str
) -> None:
    async with _identity() as identity:
        token, row = await identity.create_token(
            email, scopes, expires_days=expires_days, operator=operator, name=name
        )
    print(f"Token {row.id} for {email}, until {row.expires_at:%Y-%m-%d}. It is shown this once:")
    print(token)


async def list_tokens(email: str) -> None:
    async with _identity() as identity:
        user = await identity.find_user(email)
        for row in await identity.list_tokens(user.id):
            state = "revoked" if row.revoked_at else f"until {row.expires_at:%Y-%m-%d}"
            print(f"{row.id}  {row.hint}…  {state}  {' '.join(row.scopes) or row.kind}  {row.name}".rstrip())


async def revoke_token(email: str, token_id: str) -> None:
    async with _identity() as identity:
        user = await identity.find_user(email)
        await identity.revoke_token(user.id, token_id)
    print(f"Revoked {token_id}.")


def _read_password() -> str:
    """One line of standard input, without its line break; spaces are part of a password."""
    try:
        password = sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidParams("The password on standard input is not UTF-8 text.") from error
    if not password:
        raise InvalidParams("--password-stdin was given, and standard input holds no password.")
    return password
