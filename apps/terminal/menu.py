"""The menu, shown when there are no arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from rich.table import Table as Columns

from agents import TRAINABLE
from apps.players.gallery import Entry, Gallery, grouped
from apps.players.seat import policy_of, seat_of
from apps.players.titles import LEARNER, LEARNER_ID, title_of, unit_of
from apps.terminal.examine import BOTH, MET, remembers, tree_text
from apps.terminal.game import TerminalSession, seats_of
from apps.terminal.interpreter import command
from apps.terminal.replay import print_list, watch
from apps.terminal.report import plain
from apps.terminal.saved_models import read_models, text_of
from apps.terminal.talk import Talk, number, numbered, one_of, seconds
from tictactoe_env.errors import printable
from tictactoe_env.exact.solver import can_solve
from tictactoe_env.games.game import PERSON
from tictactoe_env.games.store import GameStore
from tictactoe_env.notation import SIDES, parse_size, rules_text
from tictactoe_env.opponents import RUN, UntrustedModelError, easy_opponent, id_of, known_names
from tictactoe_env.rules import Rules

PERFECT = "minimax-ties=fastest"
PERFECT_BEYOND = "search-seconds=2"  # on boards that cannot be solved
LISTED = 10  # games listed to choose a replay from
SCREEN = 15  # players that are shown: some need two lines of 24
OPTIMAL = "optimal: no player that never loses wins more often against random play"
Answer = TypeVar("Answer")


class BackToMenu(Exception):
    """Raised by an answer that takes back what is being asked for."""


@dataclass
class Menu:
    """Asks what to do until "quit" is chosen. seed: of the first game; each further game adds 1.

    train: trains by the words of a command line; the exit code. delay: seconds a move where agents
    play. shown: values and learn of each `TerminalSession`. trust: whether saved models are read.
    """

    rules: Rules
    talk: Talk
    store: GameStore
    seed: int
    train: Callable[[list[str]], int]
    delay: float | None = None
    shown: Mapping[str, Any] = field(default_factory=dict)
    trust: bool = False

    def run(self) -> None:
        """Ask and do what is chosen. Raises EOFError at the end of the input."""
        choices: dict[str, Callable[[], None]] = {
            "two players": lambda: self._play(PERSON, PERSON),
            "against an easy opponent": lambda: self._against(easy_opponent(self.rules)),
            "against perfect play": lambda: self._against(perfect_opponent(self.rules)),
            "against a trained agent": self._trained,
            "against an apprentice that learns from your games": lambda: self._against(LEARNER),
            "watch two agents": self._watch,
            "replays": self._replays,
            "train an agent": self._train,
            "the game tree of a player": self._tree,
        }

        def understand(text: str) -> Rules | Callable[[], None]:
            is_board = text[:1].isdigit() and "x" in text.lower()
            if is_board:
                return parse_size(text)
            return choices[numbered(choices)(text)]

        with suppress(BackToMenu):
            while True:
                self.talk.say(f"\ntic-tac-toe, {self.rules}\n", "bold")
                self._print(list(choices))
                asked = f"1 to {len(choices)}, another board such as 4x4x3, or q to quit:"
                choice = self._ask(asked, understand)
                if isinstance(choice, Rules):
                    self.rules = choice
                    continue
                try:
                    with suppress(BackToMenu):
                        choice()
                except (ValueError, OSError) as error:
                    self.talk.say(printable(error), "red")

    def _trained(self) -> None:
        runs = [entry for entry in self._players() if entry.kind != "agent"]
        if not runs:
            board = rules_text(self.rules)
            how = command("train.py", "maskable_ppo", "--board", board, "--until", "unbeatable")
            raise ValueError(f"no trained agent plays on {board}; to train one: {how}")
        self._against(self._choose("Against whom?", runs))

    def _watch(self) -> None:
        players = self._players()
        x, o = (self._choose(f"Who plays {side}?", players) for side in SIDES)
        games = self._ask("How many games?", number(1, 10_000), "1")
        delay = self.delay
        if delay is None:
            delay = self._ask("How many seconds a move?", seconds, "0.5")
        self._play(x, o, games, delay)

    def _replays(self) -> None:
        print_list(self.store, self.talk, LISTED)
        if newest := self.store.list(1):
            last = newest[0].id or 1
            known = number(1, last)
            game = self._ask("Which game?", lambda text: self.store.get(known(text)), str(last))
            watch(game, self.talk, self.delay)

    def _train(self) -> None:
        agent = self._pick("Which agent?", TRAINABLE)
        question = f"How many {unit_of(agent)} at most, or Enter for those of the agent?"

        def understand(text: str) -> str:
            return str(number(1, 10**12)(text)) if text else ""

        steps = self._ask(question, understand)
        words = [agent, "--board", rules_text(self.rules), "--until", "unbeatable"]
        if steps:
            words += ["--steps", steps]
        self.talk.say(command("train.py", *words), "dim")
        with suppress(SystemExit):  # it has said why
            self.train(words)

    def _tree(self) -> None:
        player = self._choose("Whose game tree?", self._players())
        policy = policy_of(player, self.rules, "agent")

        def understand(text: str) -> int | None:
            return number(1, self.rules.cells)(text) if text else None

        depth = self._ask("How many moves deep, or Enter for what fits a screen?", understand)
        if remembers(policy):
            asked = "Its moves as X, as O, as both, or met for all games it has learned from?"
            side = self._ask(asked, one_of(*SIDES, BOTH, MET), MET)
        else:
            side = self._ask("Its moves as X, as O or as both?", one_of(*SIDES, BOTH), BOTH)
        with self.talk.console.status("searching"):
            text = tree_text(policy, self.rules, depth, side)
        self.talk.say(text)

    def _against(self, opponent: str) -> None:
        self.talk.say(printable(f"Your opponent: {with_title(opponent, title_of(opponent))}"))
        side = self._ask("Your side, X moves first: X, O or random?", one_of(*SIDES, "random"), "X")
        if side == "random":
            side = SIDES[int(np.random.default_rng(self.seed).integers(2))]
        x, o = (PERSON, opponent) if side == "X" else (opponent, PERSON)
        self._play(x, o)

    def _play(self, x: str, o: str, games: int = 1, delay: float = 0.0) -> None:
        seats = seats_of((x, o), self.rules, self.talk)
        session = TerminalSession(
            seats, self.rules, self.talk, self.store, delay=delay, **self.shown
        )
        session.play_all(games, self.seed)
        self.seed += games

    # --- questions --------------------------------------------------------------------------------

    def _ask(self, question: str, understand: Callable[[str], Answer], default: str = "") -> Answer:
        """The answer to a question. Raises BackToMenu for q."""

        def answer(text: str) -> Answer:
            if text.lower() in ("q", "quit"):
                raise BackToMenu
            return understand(text)

        return self.talk.ask(question, answer, default)

    def _players(self) -> list[Entry]:
        """The players on this board; those that are broken are named."""
        entries = Gallery().entries()
        for entry in entries:
            if entry.broken:
                self.talk.say(printable(f"{entry.id} cannot play: {entry.description}"), "yellow")
        return [entry for entry in entries if entry.plays(self.rules)]

    def _choose(self, question: str, entries: Sequence[Entry]) -> str:
        """The name of a player: one of these, by its group and its place there, or any other."""
        self.talk.say(f"also by name: {', '.join(names_beside(entries))}", "dim")
        groups = dict(grouped(entries))
        if len(groups) > 1:
            counts = {heading: str(len(members)) for heading, members in groups.items()}
            chosen = self._pick(question, counts, self._named)
            if chosen not in groups:
                return chosen
            entries = groups[chosen]
        if any("optimal" in one.sentence for one in entries):
            self.talk.say(OPTIMAL, "dim")
        titles = {one.id: with_title(one.id, one.title) for one in entries}
        return self._pick(question, {one.id: one.sentence for one in entries}, self._named, titles)

    def _named(self, text: str) -> str:
        """The name of any player; ValueError if it cannot play here."""
        name = id_of(text)
        read_models([name], trust=self.trust)
        try:
            seat_of(name, self.rules, "agent")
        except UntrustedModelError as error:
            raise ValueError(text_of(error, "play.py", [])) from None
        return name

    def _pick(
        self,
        question: str,
        sentences: Mapping[str, str],
        other: Callable[[str], str] | None = None,
        titles: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """A name, chosen by itself or its number. No more are shown than fit the screen.

        other: see `numbered`. titles: what is shown in place of a name.
        """
        texts = [f"{titles.get(name, name)}: {sentence}" for name, sentence in sentences.items()]
        self._print(texts)
        asked = f"{question} 1 to {len(sentences)}, a name, or q to go back:"
        return self._ask(asked, numbered(sentences, other))

    def _print(self, texts: Sequence[str]) -> None:
        """Print a screen of texts with their numbers, and how many there are beyond it."""
        columns = Columns.grid(padding=(0, 2, 0, 0))
        for place, text in enumerate(texts[:SCREEN], 1):
            columns.add_row(f"{place:>4}", plain(printable(text)))
        if len(texts) > SCREEN:
            columns.add_row("", f"and {len(texts) - SCREEN} more")
        self.talk.console.print(columns)


def names_beside(entries: Sequence[Entry]) -> list[str]:
    """Names by which players can be asked for that are not listed: learner, latest:dqn, and so on.

    Names such as `latest:AGENT` are those of agents with a run among these entries.
    """
    names = [LEARNER] if any(one.id == LEARNER_ID for one in entries) else []
    agents = {one.agent for one in entries if one.kind == RUN}
    names += [name for name in known_names() if name.partition(":")[2] in agents]
    return [*names, "search-depth=6", "the path of a run"]


def with_title(name: str, title: str) -> str:
    """A player in a list: "The gambler (dqn-duel-second)", or only the name if it has no title."""
    return name if title == name else f"{title} ({name})"


def perfect_opponent(rules: Rules) -> str:
    """The name of perfect play on a board, or of a long search where it cannot be solved."""
    return PERFECT if can_solve(rules) else PERFECT_BEYOND
