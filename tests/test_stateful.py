"""Calls in any order, drawn by hypothesis: a store loses nothing.

A failure is shrunk to the shortest series of calls that shows it. `make fuzz` draws longer ones.
"""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from any_games import any_games
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
)

from tictactoe_env.games.game import RESULTS, parse_lines
from tictactoe_env.games.store import GameStore, StoreError, UnknownGameError


class OneStore(RuleBasedStateMachine):
    """A store that is written by two connections, opened again, and asked in between."""

    ids = Bundle("ids")

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "games.db"
        self.stores = [GameStore(self.path), GameStore(self.path)]
        self.games = []

    def teardown(self):
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)

    @rule(target=ids, game=any_games(), which=st.integers(0, 1))
    def add(self, game, which):
        number = self.stores[which].add(game)
        self.games.append(replace(game, id=number))
        assert number == len(self.games)
        return number

    @rule(games=st.lists(any_games(), max_size=4), which=st.integers(0, 1))
    def add_many(self, games, which):
        numbers = self.stores[which].add_many(games)
        expected = range(len(self.games) + 1, len(self.games) + len(games) + 1)
        assert numbers == expected
        self.games += [replace(game, id=id) for id, game in zip(numbers, games, strict=True)]

    @rule(games=st.lists(any_games(), max_size=3), which=st.integers(0, 1))
    def add_none_of_a_series_that_fails(self, games, which):
        lines = [*(game.line() for game in games), "a1 a1 a1 ?"]
        with pytest.raises(ValueError, match="line"):
            self.stores[which].add_many(parse_lines(lines))

    @rule(id=ids, which=st.integers(0, 1))
    def get(self, id, which):
        assert self.stores[which].get(id) == self.games[id - 1]

    @rule(beyond=st.integers(1, 2**70), which=st.integers(0, 1))
    def miss(self, beyond, which):
        with pytest.raises(UnknownGameError):
            self.stores[which].get(len(self.games) + beyond)

    @rule(
        limit=st.integers(0, 5),
        before=st.none() | st.integers(1, 12),
        result=st.none() | st.sampled_from(sorted(RESULTS)),
        which=st.integers(0, 1),
    )
    def list(self, limit, before, result, which):
        wanted = [
            game
            for game in reversed(self.games)
            if game.origin != "training" and result in (None, game.result)
        ]
        store = self.stores[which]
        assert store.count(result=result) == len(wanted)
        older = [game for game in wanted if before is None or game.id < before]
        assert store.list(limit, before, result=result) == older[:limit]

    @rule(which=st.integers(0, 1))
    def open_again(self, which):
        self.stores[which].close()
        self.stores[which] = GameStore(self.path)

    @rule(game=any_games())
    def refuse_to_write_what_is_read_only(self, game):
        with GameStore(self.path, read_only=True) as store:
            with pytest.raises(StoreError, match="read"):
                store.add(game)
            assert list(store) == self.games

    @invariant()
    def every_game_is_there(self):
        assert self.stores[0].check() == len(self.games)
        assert list(self.stores[1]) == self.games


TestOneStore = OneStore.TestCase
TestOneStore.settings = settings(max_examples=10, stateful_step_count=12)
