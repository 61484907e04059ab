from __future__ import annotations

import io
import socket

import pytest

from app.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in ("DESKMATE_DATABASE_URL", "DESKMATE_REDIS_URL", "DESKMATE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DESKMATE_DATA_DIR", str(tmp_path))


def test_help_and_version_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert "serve" in capsys.readouterr().out
    assert run("--version") == 0


def test_a_wrong_setting_is_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DESKMATE_POOL_SIZE", "many")
    assert run("migrate") == 1
    told = capsys.readouterr().err
    assert told.startswith("deskmate: SETTINGS_INVALID: DESKMATE_POOL_SIZE")
    assert told.count("\n") == 1


def test_a_user_and_a_token_are_made_on_an_empty_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))
    assert run("user", "add", "a@example.org", "--password-stdin") == 0
    assert run("user", "add", "a@example.org") == 1
    capsys.readouterr()
    assert run("token", "create", "--user", "a@example.org", "--scope", "runs:write", "--expires", "7") == 0
    token = capsys.readouterr().out.split()[-1]
    assert token.startswith("deskmate_u_")
    assert run("token", "list", "--user", "a@example.org") == 0
    listed = capsys.readouterr().out
    assert "runs:write" in listed
    assert token not in listed
    assert run("token", "revoke", listed.split()[0], "--user", "a@example.org") == 0


def test_unknown_scopes_and_users_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("token", "create", "--user", "nobody@example.org", "--scope", "*") == 1
    assert "nobody@example.org" in capsys.readouterr().err
    assert run("user", "add", "b@example.org") == 0
    assert run("token", "create", "--user", "b@example.org", "--scope", "fly") == 1
    assert "sessions:read" in capsys.readouterr().err
    assert run("token", "create", "--user", "b@example.org") == 1


def test_an_empty_password_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert run("user", "add", "a@example.org", "--password-stdin") == 1
    assert "holds no password" in capsys.readouterr().err


def test_packages_can_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("capability", "check", "hello", "--json") == 0
    assert '"ok":true' in capsys.readouterr().out
    assert run("capability", "check", "nothing") == 1
    assert run("capability", "list") == 0
    assert "demo::hello" in capsys.readouterr().out


def test_a_taken_port_is_told_before_anything_is_opened(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run("serve", "--port", str(taken.getsockname()[1])) == 1
    assert "Cannot listen on 127.0.0.1" in capsys.readouterr().err
