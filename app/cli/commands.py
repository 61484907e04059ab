"""What can be typed. Bodies are elsewhere, so that `deskmate --help` loads nothing else."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from app import __version__

app = typer.Typer(
    name="deskmate",
    help="One agent that works for you, with tools you allow.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
user_app = typer.Typer(no_args_is_help=True, help="Accounts.")
token_app = typer.Typer(no_args_is_help=True, help="Tokens for programs and for `deskmate chat`.")
capability_app = typer.Typer(no_args_is_help=True, help="Capability packages.")
app.add_typer(user_app, name="user")
app.add_typer(token_app, name="token")
app.add_typer(capability_app, name="capability")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """One agent that works for you, with tools you allow."""


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one and prints it.")] = 8000,
    first_user: Annotated[
        str | None,
        typer.Option(
            metavar="EMAIL", help="In an empty installation, make this user and print a token for it."
        ),
    ] = None,
) -> None:
    """Serve people and programs until stopped."""
    from app.cli.serve import run_server

    run_server(host, port, first_user=first_user)


@app.command()
def migrate() -> None:
    """Bring the database up to this code."""
    from app.cli.schema import migrate_now

    done = asyncio.run(migrate_now())
    typer.echo(f"Migrated: {', '.join(done)}." if done else "The database is up to date.")


@app.command()
def chat(
    question: Annotated[str | None, typer.Argument(help="Ask this, print the answer and end.")] = None,
) -> None:
    """Talk to the agent; reads DESKMATE_BASE_URL and DESKMATE_TOKEN."""
    from app.cli.chat.app import run_chat

    raise typer.Exit(run_chat(question))


@user_app.command("add")
def add_user(
    email: str,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    operator: Annotated[bool, typer.Option("--operator", help="May manage the installation.")] = False,
) -> None:
    """Add a user. Without a password the user can use tokens only."""
    from app.cli import accounts

    asyncio.run(accounts.add_user(email, password_stdin=password_stdin, operator=operator))


@token_app.command("create")
def create_token(
    user: Annotated[str, typer.Option(help="E-mail address of the token's user.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="What it allows; may be repeated; '*' for all user scopes.")
    ] = None,
    expires: Annotated[int, typer.Option(help="Days until it ends.")] = 90,
    operator: Annotated[
        bool, typer.Option("--operator", help="An operator's token: another kind, without user scopes.")
    ] = False,
    name: Annotated[str, typer.Option(help="What it is for, shown in lists.")] = "",
) -> None:
    """Make a token and print it, once."""
    from app.cli import accounts

    asyncio.run(accounts.create_token(user, scope or [], expires_days=expires, operator=operator, name=name))


@token_app.command("list")
def list_tokens(user: Annotated[str, typer.Option(help="E-mail address of the user.")]) -> None:
    """List a user's tokens."""
    from app.cli import accounts

    asyncio.run(accounts.list_tokens(user))


@token_app.command("revoke")
def revoke_token(
    token_id: str, user: Annotated[str, typer.Option(help="E-mail address of the token's user.")]
) -> None:
    """End a token at once."""
    from app.cli import accounts

    asyncio.run(accounts.revoke_token(user, token_id))


@capability_app.command("list")
def list_capabilities(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """List the installed packages and what they offer."""
    from app.cli import capabilities

    capabilities.list_all(as_json=as_json)


@capability_app.command("check")
def check_capabilities(
    name: Annotated[str | None, typer.Argument(help="Only this package.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Explain every fault of the packages; exit code 1 if there is one."""
    from app.cli import capabilities

    raise typer.Exit(0 if capabilities.check(name, as_json=as_json) else 1)
