"""What `deskmate serve` prints once it answers: how to talk to it, ready to be pasted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from app.host.identity.devices import Devices
from app.host.identity.service import IdentityService


async def greet(identity: IdentityService, devices: Devices, base_url: str, first_user: str | None) -> str:
    """The lines to print. With `first_user` and no user yet, makes that user and a token with all scopes."""
    command = own_command()
    oldest = await identity.first_user()
    head = f"Deskmate serves {base_url}  (stop it with Ctrl-C)"
    link = await devices.make_setup_link(base_url)
    if link is not None:
        head += f"\nMake the first account in a browser, with this link that works once:\n\n  {link}\n"
    if oldest is None and first_user is not None:
        await identity.add_user(first_user)
        token, row = await identity.create_token(first_user, ["*"], name="first user")
        return (
            f"{head}\n"
            f"{first_user} is its first user. This token is shown once and works until "
            f"{row.expires_at:%Y-%m-%d}. In a second terminal, here:\n\n"
            f"  DESKMATE_BASE_URL={base_url} DESKMATE_TOKEN={token} {command} chat\n\n"
            f"  curl -s {base_url}/api/v1/me -H 'Authorization: Bearer {token}'\n"
        )
    if oldest is None:
        get = f"{command} user add EMAIL\n                  {command} token create --user EMAIL --scope '*'"
    else:
        get = f"{command} token create --user {shlex.quote(oldest.email)} --scope '*'"
    return (
        f"{head}\n"
        f"  to get a token: {get}\n"
        f"  to talk to it:  DESKMATE_BASE_URL={base_url} DESKMATE_TOKEN=… {command} chat"
    )


def own_command() -> str:
    """`deskmate` where that is this program, else its path as it can be typed in this folder."""
    own = Path(sys.executable).with_name("deskmate")
    if not own.exists():
        return f"{shlex.quote(sys.executable)} -m app.cli"
    found = shutil.which("deskmate")
    if found is not None and os.path.samefile(found, own):
        return "deskmate"
    return shlex.quote(str(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own))
