"""Reading files of unknown origin: only regular ones, of a bounded size and memory."""

import os
import socket
import tracemalloc

import pytest
from text_cases import refuses

from tictactoe_env import files
from tictactoe_env.certificates.certificate import read
from tictactoe_env.files import FileRefusedError, json_memory, json_value, read_file
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


BOMBS = {
    "empty lists": ("[", "[],", 10_000),
    "nested objects": ("[", '{"a":' * 300 + "1" + "}" * 300 + ",", 20),
    "escapes": ("[", '"\\ud83d\\ude00",', 10_000),
    "many names": ("[{", "".join(f'"{number}":1,' for number in range(10_000)) + '"a":1},', 1),
}


@pytest.mark.parametrize("hook", [None, dict], ids=["", "with a hook"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_the_memory_of_json_is_at_most_what_was_estimated(bomb, hook):
    first, part, count = BOMBS[bomb]
    text = f"{first}{part * count}1]".replace("[{1]", "[1]")
    data = text.encode()
    tracemalloc.start()
    value = json_value(data, hook)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(value) >= count
    assert peak <= json_memory(text)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{'a': 1}", b"[1] 2", b"\xff\xfe[\0]\0", b"\xef\xbb\xbf[]", b"[" * 100_000),
        b"[" + b"1" * 5_000 + b"]",
        b"[" + b"[]," * 2_800_000 + b"1]",
    ],
    ids=["nothing", "quotes", "more", "utf-16", "bom", "depth", "digits", "memory"],
)
def test_json_that_is_broken_too_deep_or_too_large_in_memory_raises_a_plain_value_error(data):
    with pytest.raises(ValueError, match=r"^[^\x00-\x1f]{1,200}$"):
        json_value(data)


def test_the_estimate_lets_pass_the_largest_certificate_of_all_positions():
    """On 3x4, four in a row, 139,339 positions with 588,732 moves, each with a probability."""
    position = '  "X../.O./.../...": {\n   "a1": 0.14285714285714285,\n'
    text = "{" + position * 139_339 + '   "a1": 0.14285714285714285,\n' * 449_393 + "}"
    assert 20_000_000 < len(text) < 32 << 20
    assert json_memory(text) < files.MAX_JSON_MEMORY
