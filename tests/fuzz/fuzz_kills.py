"""Trainings and writers of stores that are killed at any moment lose nothing."""

import os
import signal
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from any_games import game
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from trainings import FORK, TRAININGS, begin, check_end, has_checkpoint, resume, whole

from tictactoe_env.games.store import GameStore

KILLED = -signal.SIGKILL
GAMES = 1_000  # numbers of games that a batch may have
once = settings(max_examples=3, phases=[Phase.reuse, Phase.generate])


def kill_at(number):
    """Kill the process at a change of its files."""
    return lambda count, kind: os.kill(os.getpid(), signal.SIGKILL) if count == number else None


@once
@given(
    st.sampled_from(TRAININGS),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=4),
)
def test_a_training_that_is_killed_goes_on_to_the_same_bytes(training, kills):
    """kills: at which part of its changes, and of those of each training that continues it."""
    changes = whole(training)[1]
    with TemporaryDirectory() as place:
        folder = Path(place)
        first, *later = [1 + int(kill * changes) for kill in kills]
        assert begin(training, folder, kill_at(first))[0] == KILLED
        for number in (*later, 0):
            code, printed = resume(training, folder, kill_at(number))
            if code != KILLED:
                break
        if has_checkpoint(folder):
            assert code == 0, printed
            check_end(training, folder)
        else:
            assert (code, printed.count("\n")) == (2, 1), printed


def write(path, told, first, batches, instruction):
    """Add batches of games to a store, and note each before it is added and when that is done.

    instruction: of SQLite's machine, at which this process kills itself.
    """
    left = [instruction]
    connect = sqlite3.connect

    def count():
        left[0] -= 20
        if instruction and left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def connected(*arguments, **named):
        connection = connect(*arguments, **named)
        connection.set_progress_handler(count, 20)
        return connection

    sqlite3.connect = connected
    with open(told, "ab", buffering=0) as notes, GameStore(path, timeout=60) as store:
        for number, size in enumerate(batches):
            batch = range(first + GAMES * number, first + GAMES * number + size)
            notes.write(f"begun {batch.start} {batch.stop}\n".encode())
            store.add_many([game(seed=seed) for seed in batch])
            notes.write(f"added {batch.start} {batch.stop}\n".encode())


@once
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from((1, 2, 7, 40)), min_size=1, max_size=60),
            st.integers(0, 40_000),
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_games_are_in_the_store_that_its_killed_writers_were_told_of(writers, is_at_once):
    """writers: sizes of batches, and the instruction at which it kills itself; 0 for none."""
    with TemporaryDirectory() as place:
        path = Path(place, "games.db")
        told = Path(place, "told")
        running = []
        for number, (batches, instruction) in enumerate(writers):
            arguments = (path, told, GAMES * GAMES * number, batches, instruction)
            running.append(FORK.Process(target=write, args=arguments))
            running[-1].start()
            if not is_at_once:
                running[-1].join()
        for writer in running:
            writer.join()
            assert writer.exitcode in (0, KILLED)
        check_store(path, told)


def check_store(path, told):
    """Check that a store has all games that were added, and of each batch all games or none."""
    begun = set()
    added = set()
    for line in told.read_text().splitlines() if told.exists() else ():
        word, start, stop = line.split()
        (begun if word == "begun" else added).add(range(int(start), int(stop)))
    if not path.exists():
        assert not added
        return
    with GameStore(path) as store:
        store.check()
        found = [game.seed for game in store]
    assert len(found) == len(set(found)), "a game is there twice"
    there = {batch for batch in begun if set(batch) & set(found)}
    assert added <= there <= begun
    assert set(found) == {seed for batch in there for seed in batch}
