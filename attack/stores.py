"""Game stores under killed writers, flipped bits, lost pages and full disks.

Writers are killed within a statement (at a drawn instruction of SQLite's machine) or at a drawn
time: every game that was acknowledged is there afterwards, and every batch whole or not at all. The
time of such a kill cannot be repeated exactly, the rest can. Flipped bits and moved pages are told
by `get`, `list` and iteration, or change nothing. A full disk is told, and loses nothing.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from attack.campaign import Case, Report, repeat
from attack.children import Ended, child
from tictactoe_env.games import ORIGINS, Game
from tictactoe_env.store import GameStore, StoreError, UnknownGameError

SECONDS = 60
BATCHES = (1, 1, 1, 2, 7, 40)  # games that are added at once
WINS = ((0, 3, 1, 4, 2), (8, 3, 7, 4, 6), (0, 4, 8, 1, 7, 6, 2, 5, 3))


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("stores", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """One store, attacked in one way."""
    way = case.draw.choice((kills, kills, damage, damage, damage, full_disk))
    case.counts[way.__name__.replace("_", " ")] += 1
    yield from (f"{way.__name__}: {text}" for text in way(case))


def game(number: int) -> Game:
    """The game with this number: its seed."""
    origins = ("human", "web", "training")
    return Game(moves=WINS[number % 3], origin=origins[number % 7 % 3], seed=number)


def seeds_of(path: Path) -> list[int]:
    """The numbers of the games of a store that is whole, oldest first. Raises StoreError."""
    with GameStore(path) as store:
        store.check()
        return [one.seed or 0 for one in store]


# --- kills ----------------------------------------------------------------------------------------


def kills(case: Case) -> Iterator[str]:
    """Kill several writers of one store, one after the other or at the same time."""
    draw, path = case.draw, case.folder / "games.db"
    told: list[Path] = []
    plans = []
    for writer in range(draw.randint(2, 5)):
        told.append(case.folder / f"told-{writer}")
        batches = [draw.choice(BATCHES) for _ in range(60)]
        instruction = draw.randint(1, 40_000) if draw.random() < 0.5 else 0
        plans.append((writer, batches, instruction, draw.uniform(0.005, 0.4)))
    if draw.random() < 0.5:
        for plan in plans:
            _killed(case, path, told, [plan])
    else:
        _killed(case, path, told, plans)
    yield from lost(path, told)


def _killed(case: Case, path: Path, told: list[Path], plans: list[Any]) -> None:
    """Start writers at the same time, and kill those that do not kill themselves."""
    started = []
    for writer, batches, instruction, seconds in plans:
        number = os.fork()
        if number == 0:
            _write(path, told[writer], writer, batches, instruction)
        started.append((number, seconds, instruction))
    began = time.monotonic()
    for number, seconds, instruction in sorted(started, key=lambda one: one[1]):
        # One that is to kill itself may not come so far; it then ends by itself.
        if not instruction:
            time.sleep(max(0.0, began + seconds - time.monotonic()))
            os.kill(number, signal.SIGKILL)
        _, status = os.waitpid(number, 0)
        case.counts["kills"] += os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def _write(path: Path, told: Path, writer: int, batches: list[int], instruction: int) -> None:
    """Add batches of games, and tell each after it was acknowledged. It never returns."""
    try:
        os.dup2(os.open(f"{told}.log", os.O_WRONLY | os.O_CREAT), 2)
        if instruction:
            _kill_at(instruction)
        record = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with GameStore(path, timeout=60) as store:
            for number, size in enumerate(batches):
                first = 1_000_000 * writer + 1_000 * number
                os.write(record, f"begin {first} {size}\n".encode())
                store.add_many([game(first + at) for at in range(size)])
                os.write(record, f"added {first} {size}\n".encode())
        os._exit(0)
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)


def _kill_at(instruction: int) -> None:
    """Kill this process at an instruction of SQLite's machine."""
    left, connect = [instruction], sqlite3.connect

    def count() -> int:
        left[0] -= 20
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def connected(*arguments: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **named)
        connection.set_progress_handler(count, 20)
        return connection

    sqlite3.connect = connected


def lost(path: Path, told: list[Path]) -> Iterator[str]:
    """What a store lacks of what its writers were told, or has beside it."""
    added, begun = set(), {}
    for file in told:
        log = Path(f"{file}.log")
        if log.exists() and log.read_text("utf-8"):
            yield f"a writer has ended with {log.read_text('utf-8')}"
        for line in file.read_text("utf-8").splitlines() if file.exists() else ():
            word, first, size = line.split()
            batch = range(int(first), int(first) + int(size))
            if word == "added":
                added |= set(batch)
            begun[int(first)] = batch
    if not path.exists() and not added:
        return
    try:
        found = seeds_of(path)
    except StoreError as error:
        yield f"after kills the store is refused: {error}"
        return
    if len(found) != len(set(found)):
        yield "a game is there twice"
    if missing := added - set(found):
        yield f"{len(missing)} of {len(added)} acknowledged games are lost"
    if set(found) - {seed for batch in begun.values() for seed in batch}:
        yield "there is a game that nobody has added"
    for batch in begun.values():
        if 0 < len(set(batch) & set(found)) < len(batch):
            yield f"a batch of {len(batch)} games is partly there"


# --- damage ---------------------------------------------------------------------------------------


def damage(case: Case) -> Iterator[str]:
    """Flip bits of a store, or put one of its pages over another."""
    draw, path = case.draw, case.folder / "games.db"
    count = draw.choice((3, 40, 150))
    with GameStore(path) as store:
        store.add_many([game(number) for number in range(count)])
        games = list(store)
    data = path.read_bytes()
    for _ in range(10):
        changed, how = damaged(draw, data)
        path.write_bytes(changed)
        case.counts["damaged stores"] += 1
        id, is_bit = draw.randint(1, count), how.startswith("bit ")
        look = partial(_look, path, games, id, is_bit)
        ended = child(look, case.folder / "out", SECONDS)
        yield from (f"{how} of {count} games: {text}" for text in wrong_with(ended))
        for beside in path.parent.glob("games.db-*"):
            beside.unlink()


def damaged(draw: Any, data: bytes) -> tuple[bytes, str]:
    """The bytes of a store with some damage, and which."""
    page = 4096
    kind = draw.choice(("bit", "bit", "bits", "page", "zeros", "cut"))
    changed, at = bytearray(data), draw.randrange(len(data))
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 5):
            changed[at] ^= 1 << draw.randrange(8)
            told, at = at, draw.randrange(len(data))
        return bytes(changed), f"{kind} at byte {told}"
    first, second = (page * draw.randrange(len(data) // page) for _ in range(2))
    if kind == "page":
        changed[first : first + page] = data[second : second + page]
        return bytes(changed), f"page {second // page} over page {first // page}"
    if kind == "zeros":
        changed[first : first + page] = bytes(page)
        return bytes(changed), f"page {first // page} zeroed"
    return bytes(changed[:at]), f"cut at byte {at}"


def _look(path: Path, games: list[Game], id: int, is_bit: bool) -> int:
    """Read a damaged store in all ways, and print what is wrong; it may only refuse.

    Damage to more than a bit may make `list` lack games: then `check` has to tell it.
    """
    calls: dict[str, Callable[[GameStore], Any]] = {
        "get": lambda store: [store.get(id)],
        "list": lambda store: store.list(1_000, origin=ORIGINS)[::-1],
        "iteration": list,
        "check": lambda store: store.check() and games,
    }
    right, lacks = {"get": [games[id - 1]]}, False
    for name, call in calls.items():
        try:
            with GameStore(path, read_only=True) as store:
                found = call(store)
        except UnknownGameError as error:
            print(f"WRONG: {error}" if is_bit else error)
        except StoreError as error:
            print(error if str(error) else "WRONG: it says nothing")
            lacks = lacks and name != "check"
        else:
            is_part = name == "list" and all(game in games for game in found) and not is_bit
            lacks = lacks or (is_part and found != games)
            if found != right.get(name, games) and not is_part:
                print(f"WRONG: {name} shows other games, and tells no damage: {str(found)[:300]}")
    if lacks:
        print("WRONG: list lacks games, and check tells no damage")
    return 0


def wrong_with(ended: Ended) -> Iterator[str]:
    """What is wrong with the way in which a store was read."""
    if ended.is_late or ended.code != 0 or ended.crashed:
        yield f"reading ended with {ended.code} after {ended.seconds:.0f} s\n{ended.last}"
    yield from (line for line in ended.text.splitlines() if line.startswith("WRONG"))


# --- full disks -----------------------------------------------------------------------------------


def full_disk(case: Case) -> Iterator[str]:
    """Let no file grow beyond a drawn size while games are added, and add more afterwards."""
    draw, path = case.draw, case.folder / "games.db"
    told = [case.folder / "told-0"]
    with GameStore(path) as store:
        store.add_many([game(10**9 + number) for number in range(draw.choice((1, 50)))])
    before = seeds_of(path)
    most = max(path.stat().st_size, 4096) + draw.randint(0, 60_000)
    batches = [draw.choice(BATCHES) for _ in range(200)]
    ended = child(lambda: _fill(path, told[0], batches, most), case.folder / "out", SECONDS)
    case.counts["full disks"] += ended.code == 3
    if ended.code not in (0, 3) or ended.crashed:
        yield f"adding ended with {ended.code}\n{ended.last}"
    with GameStore(path) as store:  # the disk has room again
        store.add_many([game(2 * 10**9)])
    told[0].write_text(
        f"{told[0].read_text('utf-8') if told[0].exists() else ''}"
        f"added {10**9} {len(before)}\nadded {2 * 10**9} 1\n",
        "utf-8",
    )
    yield from lost(path, told)


def _fill(path: Path, told: Path, batches: list[int], most: int) -> int:
    """Add games until the disk is full: 3 if it was, and the store says so."""
    with GameStore(path) as store, open(told, "a", encoding="utf-8") as record:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        for number, size in enumerate(batches):
            first = 1_000 * number
            lines = f"begin {first} {size}\n"
            try:
                store.add_many([game(first + at) for at in range(size)])
                lines += f"added {first} {size}\n"
            except StoreError as error:
                print(error)
                return 3
            finally:
                record.write(lines)
                record.flush()
    return 0
