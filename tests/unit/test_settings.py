from __future__ import annotations

import stat
from pathlib import Path

import pytest

from app.errors import SettingsInvalid
from app.settings import load_settings


def test_nothing_needs_to_be_set() -> None:
    settings = load_settings({})
    assert settings.embedded
    assert settings.uses_sqlite
    assert settings.database_url.endswith("/data/deskmate.db")


def test_a_plain_postgresql_address_gets_the_async_driver() -> None:
    settings = load_settings({"DESKMATE_DATABASE_URL": "postgresql://u@h/db"})
    assert settings.database_url == "postgresql+asyncpg://u@h/db"


def test_an_empty_variable_counts_as_unset() -> None:
    assert load_settings({"DESKMATE_REDIS_URL": " "}).redis_url is None


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"DESKMATE_KEEPALIVE_SECONDS": "soon"}, "DESKMATE_KEEPALIVE_SECONDS"),
        ({"DESKMATE_BASE_URL": "deskmate.example.org"}, "DESKMATE_BASE_URL"),
        ({"DESKMATE_BASE_URL": "http://deskmate.example.org"}, "DESKMATE_INSECURE_HTTP"),
        ({"DESKMATE_DATABASE_URL": "mysql://x"}, "DESKMATE_DATABASE_URL"),
        ({"DESKMATE_REDIS_URL": "redis://h", "DESKMATE_SECRET_KEY": "x" * 40}, "SQLite"),
        (
            {"DESKMATE_REDIS_URL": "redis://h", "DESKMATE_DATABASE_URL": "postgresql://h/d"},
            "DESKMATE_SECRET_KEY",
        ),
        ({"DESKMATE_SECRET_KEY": "short"}, "32 characters"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_is_not(variables: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        load_settings(variables)
    assert named in caught.value.message


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(SettingsInvalid) as caught:
        load_settings({"DESKMATE_POOL_SIZE": "0", "DESKMATE_KEEPALIVE_SECONDS": "-1"})
    assert "DESKMATE_POOL_SIZE" in caught.value.message
    assert "DESKMATE_KEEPALIVE_SECONDS" in caught.value.message


def test_the_secret_is_made_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    variables = {"DESKMATE_DATA_DIR": str(tmp_path / "new")}
    first = load_settings(variables).secret()
    assert load_settings(variables).secret() == first
    assert len(first) >= 32
    assert stat.S_IMODE((tmp_path / "new" / "secret.key").stat().st_mode) == 0o600


def test_a_damaged_secret_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_text("x")
    with pytest.raises(SettingsInvalid, match="damaged"):
        load_settings({"DESKMATE_DATA_DIR": str(tmp_path)}).secret()


def test_the_secret_is_not_shown_when_settings_are_printed() -> None:
    settings = load_settings({"DESKMATE_SECRET_KEY": "s" * 40})
    assert "s" * 40 not in repr(settings)


def test_extra_package_folders_are_a_path_list() -> None:
    settings = load_settings({"DESKMATE_CAPABILITIES": "/a:/b"})
    assert settings.capabilities == (Path("/a"), Path("/b"))
