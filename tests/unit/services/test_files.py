"""Names, kinds and places of uploads (O17)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from app.errors import NotFound, PayloadTooLarge, UnsupportedMediaType
from app.services.files import FileStore, check_size, display_name, media_type_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF" + b"\0" * 32
GIF = b"GIF89a" + b"\0" * 32
WEBP = b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 32
PDF = b"%PDF-1.7\n" + b"\0" * 32


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("hw.jpg", "hw.jpg"),
        ("../../etc/passwd", "passwd"),
        ("/absolute/path/x.png", "x.png"),
        ("..\\..\\windows\\x.png", "x.png"),
        ("C:\\x\\y.pdf", "y.pdf"),
        ("..", "file"),
        ("", "file"),
        ("   ", "file"),
        ("a\0b.txt", "ab.txt"),
        ("line\nbreak\x1b[31m.txt", "linebreak[31m.txt"),
        ("gpj.\u202eexe.png", "gpj.exe.png"),
        ("作业 第一章.pdf", "作业 第一章.pdf"),
    ],
)
def test_a_name_is_for_display_only(sent: str, shown: str) -> None:
    assert display_name(sent) == shown


def test_a_long_name_is_cut() -> None:
    assert len(display_name("x" * 300 + ".txt")) == 255


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
        (PDF, "application/pdf"),
        ("二次函数\n".encode(), "text/plain"),
        (b"<html><script>alert(1)</script>", "text/plain"),
    ],
)
def test_the_bytes_say_what_a_file_is(data: bytes, kind: str) -> None:
    assert media_type_of(data) == kind


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04" + b"\0" * 64,
        b"MZ" + b"\0" * 64,
        b"\x7fELF" + b"\0" * 64,
        b"text with \0 inside",
        b"\xff\xfe\x00latin",
        b"<?xml version='1.0'?><svg xmlns='x' onload='x'/>",
    ],
)
def test_other_kinds_are_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedMediaType):
        media_type_of(data)


def test_a_file_over_the_limit_is_refused() -> None:
    check_size(20 * 1_048_576, 20 * 1_048_576)
    with pytest.raises(PayloadTooLarge):
        check_size(20 * 1_048_576 + 1, 20 * 1_048_576)


def test_bytes_lie_under_their_digest_and_nowhere_else(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "data" / "files")
    digest = store.put(PNG)
    assert digest == hashlib.sha256(PNG).hexdigest()
    assert store.put(PNG) == digest
    assert store.read(digest) == PNG
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [
        tmp_path / "data" / "files" / digest[:2] / digest
    ]
    store.remove(digest)
    store.remove(digest)
    with pytest.raises(NotFound):
        store.read(digest)


@pytest.mark.parametrize("digest", ["../../x", "a" * 63, "A" * 64, "", "a" * 64 + "/../x"])
def test_what_is_no_digest_is_no_path(tmp_path: Path, digest: str) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        FileStore(tmp_path).read(digest)
