"""The menu, shown when there are no arguments."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from players.gallery import Entry, Gallery
from players.pupil import LEARNER, LEARNER_RULES
from players.seat import PERSON
from terminal.game import Table, seats_of
from terminal.replay import print_list, watch
from terminal.talk import Talk, number, one_of, seconds
from tictactoe_env.notation import SIDES
from tictactoe_env.positions import can_enumerate
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore, UnknownGameError

CHOICES = (
    "two players",
    "against perfect play",
    "against a trained agent",
    "against a trie that learns from you",
    "watch two agents",
    "replays",
    "quit",
)
PERFECT = "minimax"
PERFECT_BEYOND = "search-seconds=2"  # on boards that are too large to solve
LISTED = 10  # games listed to choose a replay from
MAX_GAMES = 10_000
DELAY = 0.5  # seconds for which each board is shown when two agents play


class Menu:
    """Asks what to do until "quit" is chosen. seed: of the first game; each further game adds 1."""

    def __init__(
        self,
        rules: Rules,
        talk: Talk,
        store: GameStore,
        seed: int,
        delay: float | None = None,
        values: bool = False,
        learn: bool | None = None,
    ):
        self.rules, self.talk, self.store = rules, talk, store
        self.seed, self.delay, self.values, self.learn = seed, delay, values, learn

    def run(self) -> None:
        """Ask and do what is chosen. Raises EOFError at the end of the input."""
        actions = (
            *(self._two_players, self._perfect, self._trained, self._learner),
            *(self._watch, self._replays),
        )
        while True:
            self.talk.say(f"\ntic-tac-toe, {self.rules}\n", "bold")
            self._number(CHOICES)
            choice = self.talk.ask(f"Choose 1 to {len(CHOICES)}:", number(1, len(CHOICES)))
            if choice == len(CHOICES):
                return
            actions[choice - 1]()

    def _two_players(self) -> None:
        self._play(PERSON, PERSON)

    def _perfect(self) -> None:
        if not can_enumerate(self.rules):
            self.talk.say(
                f"{self.rules} is too large to solve: the strongest opponent here is a search of "
                f"two seconds a move, {PERFECT_BEYOND}."
            )
        self._against(PERFECT if can_enumerate(self.rules) else PERFECT_BEYOND)

    def _trained(self) -> None:
        entries = Gallery().entries()
        for entry in entries:
            if entry.broken:
                self.talk.say(f"{entry.id} cannot play: {entry.about}", "yellow")
        runs = [entry for entry in entries if entry.kind == "run" and entry.plays(self.rules)]
        if not runs:
            self.talk.say(
                f"There is no trained agent for {self.rules} in models/ or runs/ yet. Train one in "
                "a minute: python train.py trie"
            )
            return
        self._against(self._choose("Against whom?", runs).id)

    def _learner(self) -> None:
        if self.rules != LEARNER_RULES:
            self.talk.say(
                f"The trie that learns from you plays on {LEARNER_RULES}. Train a trie for "
                f"{self.rules}, which learns from your games too: python train.py trie --help"
            )
            return
        self._against(LEARNER)

    def _watch(self) -> None:
        players = [entry for entry in Gallery().entries() if entry.plays(self.rules)]
        x, o = (self._choose(f"Who plays {side}?", players).id for side in SIDES)
        games = self.talk.ask("How many games? [1]", number(1, MAX_GAMES, default=1))
        delay = self.delay
        if delay is None:
            delay = self.talk.ask(f"How many seconds a move? [{DELAY}]", seconds(DELAY))
        self._play(x, o, games, delay)

    def _replays(self) -> None:
        print_list(self.store, self.talk, LISTED)
        newest = self.store.list(1)
        if newest:
            game = self._game_id(f"Which game? [{newest[0].id}]", newest[0].id or 1)
            watch(self.store.get(game), self.talk, self.delay)

    def _game_id(self, question: str, default: int) -> int:
        """The id of a game in the store."""
        understand = number(1, default=default)

        def known(text: str) -> int:
            id = understand(text)
            try:
                self.store.get(id)
            except UnknownGameError as error:
                raise ValueError(str(error)) from None
            return id

        return self.talk.ask(question, known)

    def _against(self, opponent: str) -> None:
        side = self.talk.ask(
            "Your side, X moves first: X, O or random? [X]", one_of(*SIDES, "random", default="X")
        )
        if side == "random":
            side = SIDES[int(np.random.default_rng(self.seed).integers(2))]
        self._play(*((PERSON, opponent) if side == "X" else (opponent, PERSON)))

    def _play(self, x: str, o: str, games: int = 1, delay: float = 0.0) -> None:
        seats = seats_of((x, o), self.rules, self.talk)
        table = Table(
            seats,
            self.rules,
            self.talk,
            self.store,
            values=self.values,
            delay=delay,
            learn=self.learn,
        )
        table.play_all(games, self.seed)
        self.seed += games

    def _choose(self, question: str, entries: list[Entry]) -> Entry:
        self._number(f"{entry.id}: {entry.sentence}" for entry in entries)
        return entries[
            self.talk.ask(f"{question} 1 to {len(entries)}:", number(1, len(entries))) - 1
        ]

    def _number(self, texts: Iterable[str]) -> None:
        for place, text in enumerate(texts, 1):
            self.talk.say(f"{place:>4}  {text}")
