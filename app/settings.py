"""Typed settings from `DESKMATE_*` variables; read by `factory`, `api` and `cli` only.

A plain frozen model over `os.environ`: every fault is found at once and named by its variable, so
that a wrong setting costs one look at one message.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from app.errors import SettingsInvalid

PREFIX = "DESKMATE_"
SECRET_FILE = "secret.key"  # noqa: S105 -- the name of the file, not what is in it
MIN_SECRET_CHARACTERS = 32


class Settings(BaseModel):
    """All that can be set. Field `x_y` comes from `DESKMATE_X_Y`; an empty variable counts as unset."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    data_dir: Path = Path("data")
    """Folder of the embedded database, files and the secret key; relative to the working folder."""
    database_url: str = ""
    """SQLAlchemy address. Empty becomes SQLite in the data folder; `postgresql://` gets asyncpg."""
    redis_url: str | None = None
    """Set: several processes share the work. Unset: embedded, one process."""
    files_dir: Path | None = None
    """Folder of uploaded files. Unset: `files` in the data folder; several processes name a shared one."""
    models: Path | None = None
    """Path of models.toml; without it the demo model answers."""
    web_dist: Path | None = None
    """Folder of the built web page; unset, the installed one or the checkout's."""
    capabilities: tuple[Path, ...] = ()
    """Extra folders of packages, joined by the system's path separator."""
    secret_key: SecretStr | None = None
    """Signs cookies and cursors. Made and kept in the data folder in embedded mode."""
    base_url: str = "http://127.0.0.1:8000"
    """How people and agents reach the service from outside; used for links and the manifest."""
    insecure_http: bool = False
    """Allows a plain-http address that is not this machine: renames the cookie and warns."""

    keepalive_seconds: Annotated[float, Field(gt=0, le=300)] = 10.0
    """Silence after which an open stream gets a blank line."""
    pool_size: Annotated[int, Field(ge=1, le=200)] = 10
    """Database connections of one process."""
    flush_interval_ms: Annotated[float, Field(ge=0, le=1000)] = 8.0
    """How long text waits for more to share a write; what somebody waits for goes at once."""
    events_retention_days: Annotated[int, Field(ge=1, le=36500)] = 90
    """After this the lines of a run are gone and its items stay."""
    run_seconds: Annotated[float, Field(gt=0, le=86400)] = 900.0
    """Longest wall time of one run."""
    run_tokens: Annotated[int, Field(ge=0)] = 2_000_000
    """Most tokens of one run, in and out together; 0 switches the limit off."""
    run_tool_calls: Annotated[int, Field(ge=0)] = 50
    """Most tool calls of one run; 0 switches the limit off."""
    user_live_runs: Annotated[int, Field(ge=1)] = 8
    """Most runs of one user at a time, where the user's own row says nothing."""
    lease_seconds: Annotated[float, Field(ge=1, le=3600)] = 30.0
    """How long the others wait for a process that has fallen silent before they end its runs (PostgreSQL)."""
    lease_renew_seconds: Annotated[float, Field(gt=0, le=1200)] = 10.0
    """How often a process renews its lease."""
    sweep_seconds: Annotated[float, Field(gt=0, le=600)] = 5.0
    """How often a process looks for runs that nobody drives any more."""
    body_limit_bytes: Annotated[int, Field(ge=1024)] = 1_048_576
    """Largest JSON body."""
    upload_limit_bytes: Annotated[int, Field(ge=1024)] = 20 * 1_048_576
    """Largest uploaded file."""
    shutdown_seconds: Annotated[float, Field(ge=0, le=600)] = 10.0
    """How long open streams may go on after the process was asked to stop."""
    log: Literal["debug", "info", "warning", "error"] = "warning"
    """What the log tells: `info` adds one line a request and run."""
    log_format: Literal["auto", "console", "json"] = "auto"
    """Columns or JSON lines; `auto` is columns at a terminal and JSON anywhere else."""

    @property
    def embedded(self) -> bool:
        """One process that migrates by itself and keeps its own secret."""
        return self.redis_url is None

    @property
    def uses_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite")

    @property
    def is_loopback(self) -> bool:
        return urlsplit(self.base_url).hostname in {"127.0.0.1", "localhost", "::1"}

    @field_validator("capabilities", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part for part in value.split(os.pathsep) if part.strip())
        return value

    @field_validator("log", "log_format", mode="before")
    @classmethod
    def _any_case(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator("base_url")
    @classmethod
    def _plain_origin(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be an http or https address such as https://deskmate.example.org")
        if parts.query or parts.fragment or parts.username:
            raise ValueError("must not hold a query, a fragment or a user name")
        return value.rstrip("/")

    @field_validator("redis_url")
    @classmethod
    def _redis_scheme(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must begin with redis://, rediss:// or unix://")
        return value

    @model_validator(mode="before")
    @classmethod
    def _default_database(cls, values: Any) -> Any:
        """Fills in the database before freezing, as it depends on the data folder."""
        values = dict(values)
        url = values.get("database_url") or ""
        if not url:
            folder = Path(values.get("data_dir") or "data").absolute()
            url = f"sqlite+aiosqlite:///{folder / 'deskmate.db'}"
        for short, full in (
            ("postgres://", "postgresql+asyncpg://"),
            ("postgresql://", "postgresql+asyncpg://"),
            ("sqlite://", "sqlite+aiosqlite://"),
        ):
            if url.startswith(short):
                url = full + url[len(short) :]
        values["database_url"] = url
        return values

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: str) -> str:
        if not value.startswith(("postgresql+asyncpg://", "sqlite+aiosqlite://")):
            raise ValueError("must begin with sqlite:/// or postgresql://")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Settings:
        if self.redis_url is not None:
            if self.uses_sqlite:
                raise ValueError(
                    "DESKMATE_REDIS_URL means several processes, and SQLite serves one only: "
                    "set DESKMATE_DATABASE_URL to PostgreSQL or unset DESKMATE_REDIS_URL"
                )
            if self.secret_key is None:
                raise ValueError(
                    "DESKMATE_SECRET_KEY is required with DESKMATE_REDIS_URL, the same in every process"
                )
        if self.lease_renew_seconds > self.lease_seconds / 2:
            raise ValueError(
                "DESKMATE_LEASE_RENEW_SECONDS must be at most half of DESKMATE_LEASE_SECONDS, "
                "so that one failed renewal does not cost the lease"
            )
        if self.secret_key is not None and len(self.secret_key.get_secret_value()) < MIN_SECRET_CHARACTERS:
            raise ValueError(f"DESKMATE_SECRET_KEY must have at least {MIN_SECRET_CHARACTERS} characters")
        if self.base_url.startswith("http://") and not self.is_loopback and not self.insecure_http:
            raise ValueError(
                "DESKMATE_BASE_URL is plain http on an address that is not this machine: use https, "
                "or set DESKMATE_INSECURE_HTTP=1 if the network is yours alone"
            )
        return self

    def secret(self) -> bytes:
        """The signing key. In embedded mode it is made once and kept, readable by the owner only.

        Raises:
            SettingsInvalid: the data folder cannot be written or its key file is damaged.
        """
        if self.secret_key is not None:
            return self.secret_key.get_secret_value().encode()
        path = self.data_dir / SECRET_FILE
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            try:
                # O_EXCL: of two processes that start at once, one makes the key and both read it.
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                pass
            else:
                with os.fdopen(handle, "w") as file:
                    file.write(secrets.token_urlsafe(48))
            key = path.read_text().strip()
        except OSError as error:
            raise SettingsInvalid(
                f"The secret key cannot be kept in {path}: {error.strerror}. "
                "Make the folder writable, or set DESKMATE_SECRET_KEY or DESKMATE_DATA_DIR."
            ) from error
        if len(key) < MIN_SECRET_CHARACTERS:
            raise SettingsInvalid(f"{path} is damaged: remove it to have a new key made; cookies then end.")
        return key.encode()


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from the environment.

    Raises:
        SettingsInvalid: naming each variable that is wrong and what it should be.
    """
    environment = os.environ if environment is None else environment
    values = {
        name: environment[PREFIX + name.upper()]
        for name in Settings.model_fields
        if environment.get(PREFIX + name.upper(), "").strip()
    }
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsInvalid("; ".join(_sentence(fault) for fault in error.errors()) + ".") from None


def _sentence(fault: Any) -> str:
    """One fault in a person's words; never the value, which may be a secret."""
    text = str(fault["msg"]).removeprefix("Value error, ")
    if not fault["loc"]:
        return text
    return f"{PREFIX}{str(fault['loc'][0]).upper()} is wrong: {text[0].lower()}{text[1:]}"
