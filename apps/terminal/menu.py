"""The menu, shown when there are no arguments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import agents
from agents import TRAINABLE
from apps.players.about import LEARNER, PLAYERS, unit_of
from apps.players.gallery import Entry, Gallery, grouped
from apps.players.pupil import LEARNER_RULES, TRIE
from apps.terminal.game import Table, seats_of
from apps.terminal.installed import OF_EVERY_RUN, require, what_to_do
from apps.terminal.interpreter import command
from apps.terminal.replay import print_list, watch
from apps.terminal.talk import Talk, number, one_of, seconds
from apps.terminal.trainer import new_folder, train
from apps.terminal.tree import tree_text, trie_text
from tictactoe_env.certificates.certificate import FILE
from tictactoe_env.errors import printable
from tictactoe_env.exact.evaluation import UNTIL
from tictactoe_env.exact.positions import can_enumerate
from tictactoe_env.games.store import GameStore, UnknownGameError
from tictactoe_env.games.table import PERSON
from tictactoe_env.notation import SIDES, parse_size, rules_text
from tictactoe_env.opponents import easy_opponent
from tictactoe_env.rules import Rules
from tictactoe_env.trained.packed import BOARD

CHOICES = (
    "two players",
    "against an easy opponent",
    "against perfect play",
    "against a trained agent",
    "against an apprentice that learns from your games",
    "watch two agents",
    "replays",
    "train an agent",
    "the game tree of a player",
    "quit",
)
PERFECT = "minimax"
PERFECT_BEYOND = "search-seconds=2"  # on boards that are too large to solve
LISTED = 10  # games listed to choose a replay from
MAX_GAMES = 10_000
DEPTH = 2  # moves of a game tree
DELAY = 0.5  # seconds for which each board is shown when two agents play


OPTIMAL = "optimal: no player that never loses wins more often against random play"


class BackToMenu(Exception):
    """What is being asked for shall not be done after all."""


class Menu:
    """Asks what to do until "quit" is chosen. seed: of the first game; each further game adds 1.

    values: as of a `Table`.
    """

    def __init__(
        self,
        rules: Rules,
        talk: Talk,
        store: GameStore,
        seed: int,
        delay: float | None = None,
        values: str = "",
        learn: bool | None = None,
    ):
        self.rules, self.talk, self.store = rules, talk, store
        self.seed, self.delay, self.values, self.learn = seed, delay, values, learn

    def run(self) -> None:
        """Ask and do what is chosen. Raises EOFError at the end of the input."""
        actions = (
            *(self._two_players, self._easy, self._perfect, self._trained, self._learner),
            *(self._watch, self._replays, self._train, self._tree),
        )
        while True:
            self.talk.say(f"\ntic-tac-toe, {self.rules}\n", "bold")
            self._number(CHOICES)
            choice = self.talk.ask(
                f"Choose 1 to {len(CHOICES)}, or another board such as 4x4x3:",
                self._understand,
            )
            if isinstance(choice, Rules):
                self.rules = choice
                continue
            if choice == len(CHOICES):
                return
            with suppress(BackToMenu):
                actions[choice - 1]()

    def _understand(self, text: str) -> int | Rules:
        """The number of a choice, or another board; q is the last choice."""
        if text.lower() in ("q", "quit"):
            return len(CHOICES)
        if not (text[:1].isdigit() and "x" in text.lower()):
            return number(1, len(CHOICES), also=", or a board such as 4x4x3")(text)
        return parse_size(text)

    def _two_players(self) -> None:
        self._play(PERSON, PERSON)

    def _easy(self) -> None:
        name = easy_opponent(self.rules)
        self.talk.say(f"Your opponent is {name}: {PLAYERS[name].about}.")
        self._against(name)

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
                text = printable(f"{entry.id} cannot play: {entry.about}")
                self.talk.say(text, "yellow")
        runs = [entry for entry in entries if entry.kind != "agent" and entry.plays(self.rules)]
        if not runs:
            board, which = rules_text(self.rules), rules_text(BOARD)
            options = "--board", board, "--until", "unbeatable"
            train_it = command("train.py", "maskable_ppo", *options)
            self.talk.say(
                f"There is no trained agent for {board} in models/ or runs/ yet; those of the "
                f"package play on {which}. To train one: {train_it}"
            )
            return
        self._against(self._choose("Against whom?", runs).id)

    def _learner(self) -> None:
        if self.rules != LEARNER_RULES:
            self.talk.say(
                f"Your apprentice plays on {LEARNER_RULES}. Train a trie for "
                f"{self.rules}, which learns from your games too: "
                f"{command('train.py', TRIE, '--help')}"
            )
            return
        self._against(LEARNER)

    def _watch(self) -> None:
        players = [entry for entry in Gallery().entries() if entry.plays(self.rules)]
        players = self._list(players)
        x, o = (players[self._pick(f"Who plays {side}?", len(players))].id for side in SIDES)
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

    # --- training ---------------------------------------------------------------------------------

    def _train(self) -> None:
        sentences = [f"{name}: {sentence}" for name, sentence in TRAINABLE.items()]
        self._number(sentences)
        agent = list(TRAINABLE)[self._pick("Which agent?", len(sentences))]
        try:
            with self.talk.waiting(f"loading {agent}"):
                require(*OF_EVERY_RUN)
                page: Any = agents.page(agent)
            folder = self._train_into_folder(page)
        except ImportError as error:
            text = what_to_do(error)
            if text is None:
                raise
            self.talk.say(text, "red")
            return
        except (ValueError, OSError) as error:
            self.talk.say(printable(error), "red")
            return
        if (folder / FILE).exists():
            answer = one_of("yes", "no", default="yes")
            if self.talk.ask("Play against it: yes or no? [yes]", answer) == "yes":
                self._against(str(folder))

    def _train_into_folder(self, page: Any) -> Path:
        """Ask how to train, and train; the folder of the run, without certificate if it was left.

        Ctrl-C ends the training, not the menu.
        """
        preset = self._preset(page)
        known = agents.presets(page.AGENT)
        options = {**(known[preset].options if preset else {}), **asdict(self.rules)}
        unit = unit_of(page.AGENT)
        default = page.Config(**options).steps
        goal = UNTIL[0] if preset else UNTIL[1]
        until = self.talk.ask(
            f"Until it is proven unbeatable or optimal, or for all {unit}: "
            f"{', '.join(UNTIL[1:])} or {UNTIL[0]}? [{goal}]",
            one_of(*UNTIL, default=goal),
        )
        question = f"How many {unit}{' at most' * (until != UNTIL[0])}? [{default}]"
        config = page.Config(
            **{**options, "steps": self.talk.ask(question, number(1, default=default))}
        )
        name = f"{page.AGENT}-{preset}" if preset else page.AGENT
        folder = new_folder(name, config.seed, self.talk.console)
        from training.run import Run

        try:
            train(Run(folder, page, config, until, preset), self.talk.console)
        except KeyboardInterrupt:
            self.talk.say("the training ended at once, before anything was saved")
        return folder

    def _preset(self, page: Any) -> str | None:
        """The preset that is chosen; None for the default options."""
        known = agents.presets(page.AGENT)
        sentences = [f"{name}: {preset.sentence}" for name, preset in known.items()]
        sentences = [f"the defaults of {page.AGENT}", *sentences]
        self._number(sentences)
        chosen = self._pick("Which options?", len(sentences))
        return list(known)[chosen - 1] if chosen else None

    # --- the game tree ----------------------------------------------------------------------------

    def _tree(self) -> None:
        """Print the games that a trie has seen, or the moves of any other player."""
        gallery = Gallery()
        entry = self._choose(
            "Whose game tree?", [one for one in gallery.entries() if one.plays(self.rules)]
        )
        depth = self.talk.ask(
            f"How many moves deep? [{DEPTH}]", number(1, self.rules.cells, default=DEPTH)
        )
        seat = gallery.seat(entry.id, self.rules)
        policy: Any = seat.policy
        if seat.pupil is not None:
            self.talk.say(trie_text(policy.trie, depth))
            return
        side = self.talk.ask(
            "Its moves as X, as O or as both? [both]", one_of(*SIDES, "both", default="both")
        )
        with self.talk.waiting("searching"):
            text = tree_text(policy, self.rules, depth, side)
        self.talk.say(text)

    # --- questions --------------------------------------------------------------------------------

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
        ordered = self._list(entries)
        return ordered[self._pick(question, len(ordered))]

    def _list(self, entries: Iterable[Entry]) -> list[Entry]:
        """Print players in their groups, numbered; in this order they are returned."""
        ordered = list[Entry]()
        for heading, members in grouped(entries):
            self.talk.say(heading, "bold")
            self._number([named(one) for one in members], len(ordered) + 1)
            ordered += members
        if any("optimal" in one.sentence for one in ordered):
            self.talk.say(OPTIMAL, "dim")
        return ordered

    def _pick(self, question: str, count: int) -> int:
        """The index of one of `count` printed texts, by its number. Raises BackToMenu for 0."""
        asked = f"{question} 1 to {count}, or 0 to go back:"
        chosen = self.talk.ask(asked, number(0, count))
        if chosen == 0:
            raise BackToMenu
        return chosen - 1

    def _number(self, texts: Iterable[str], first: int = 1) -> None:
        """Print texts, numbered from `first`."""
        for place, text in enumerate(texts, first):
            line = f"{place:>4}  {printable(text)}"
            if self.talk.console.is_terminal:
                line = textwrap.fill(line, self.talk.console.width - 1, subsequent_indent=" " * 6)
            self.talk.say(line)


def named(entry: Entry) -> str:
    """A player by its id, by what people call it if that says more, and with its sentence.

    The options of a name are left out: the id has them.
    """
    what, options = re.split(r" \(|, ", entry.title + ", ", maxsplit=1)
    is_said = entry.id.lower() in what.lower() or ("=" in entry.id and options)
    return f"{entry.id}{'' if is_said else f', {what}'}: {entry.sentence}"
