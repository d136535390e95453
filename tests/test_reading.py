"""Reading files of unknown origin: only regular ones, of a bounded size."""

import os
import socket

import pytest
from text_cases import refuses

from tictactoe_env.certificates.certificate import read
from tictactoe_env.files import FileRefusedError, json_value, read_file
from tictactoe_env.games.store import GameStore, read_games

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, sockets, devices, links")
KINDS = {
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(path.name),  # its path is short
    "device": lambda path: path.symlink_to("/dev/zero"),
}
"""What can stand in place of a file, and how it is made in the working directory."""
READERS = {
    "read_file": lambda path: read_file(path, 10),
    "a certificate": read,
    "games": lambda path: list(read_games(path)),
    "a store": GameStore,
}


@posix
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_at_once(kind, reader, tmp_path, monkeypatch):
    """A pipe, a device that never ends: a reader that opened them would wait for ever."""
    monkeypatch.chdir(tmp_path)
    KINDS[kind](tmp_path / "file")
    with refuses("file", error=(ValueError, OSError)):
        READERS[reader](tmp_path / "file")


def test_a_missing_file_is_told_as_one_and_a_text_with_a_null_is_no_path(tmp_path):
    for path in (tmp_path / "none", tmp_path / "none" / "file"):
        with pytest.raises(FileNotFoundError):
            read_file(path, 10)
    with refuses("a\\x00b", error=FileRefusedError):
        read_file("a\0b", 10)


def test_a_file_is_read_up_to_its_limit_and_a_larger_one_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(10)))
    assert read_file(path, 10) == bytes(range(10))
    with refuses(path, "9 bytes", error=FileRefusedError):
        read_file(path, 9)
    os.truncate(path, 1 << 40)
    with refuses(path, "2 MB", error=FileRefusedError):
        read_file(path, 2 << 20)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="a file that tells no size")
def test_a_file_that_tells_no_size_is_read_up_to_its_limit_too():
    assert os.stat("/proc/self/maps").st_size == 0
    assert read_file("/proc/self/maps", 1 << 20)
    with refuses("100 bytes", error=FileRefusedError):
        read_file("/proc/self/maps", 100)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{'a': 1}", b"[1] 2", b"\xff\xfe[\0]\0", b"\xef\xbb\xbf[]", b"[" * 100_000),
        b"[" + b"1" * 5_000 + b"]",
    ],
    ids=["nothing", "quotes", "more", "utf-16", "bom", "depth", "digits"],
)
def test_json_that_is_broken_or_too_deep_raises_a_plain_value_error(data):
    with pytest.raises(ValueError, match=r"^[^\x00-\x1f]{1,200}$"):
        json_value(data)
