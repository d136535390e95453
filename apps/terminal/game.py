"""Games of people and agents at the terminal, with values of the moves, saved in a store."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from apps.players.pupil import LEARNER_FOLDER, LEARNER_RULES, Pupil, teach
from apps.players.seat import OWN, Seat, seat_of
from apps.players.titles import title_of
from apps.terminal.interpreter import command
from apps.terminal.picture import STYLES, number, picture
from apps.terminal.talk import Show, Talk
from tictactoe_env.certificates.reach import ReachPolicy
from tictactoe_env.errors import printable
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.solver import can_solve
from tictactoe_env.games.analysis import analyse
from tictactoe_env.games.game import PERSON, Game, Participant
from tictactoe_env.games.store import GameStore, StoreError
from tictactoe_env.notation import SIDES, cell_text
from tictactoe_env.policy import keeps
from tictactoe_env.rules import Boards, Rules, game_state, other_side, side_to_move
from tictactoe_env.session import GameSession, called, who


class TerminalSession(GameSession):
    """Plays games between two seats and saves them in a store.

    values: the kind of the players' values that is shown from the start, "own" or "expected"; ""
    shows none. delay: seconds for which each board of a game between agents is shown. learn:
    whether players that can learn do so. The learner in runs/learner, once it has its first game,
    learns from every game of a person on its board.
    """

    talk: Talk
    title = staticmethod(title_of)
    commands: ClassVar[Mapping[str, str]] = {
        **GameSession.commands,
        "values": "show or hide what each move is worth",
        "values own": "show the other player's own values of the moves",
        "values expected": "show its exact results against random moves",
    }

    def __init__(
        self,
        seats: Mapping[str, Seat],
        rules: Rules,
        talk: Talk,
        store: GameStore,
        *,
        values: str = "",
        delay: float = 0.0,
        learn: bool | None = None,
    ):
        policies = {side: seat.policy for side, seat in seats.items() if seat.policy is not None}
        super().__init__(rules, {side: seats[side].player for side in SIDES}, policies, talk)
        self.seats = seats
        self.store = store
        self.values = values
        self.delay = delay
        self.learn = learn
        self._show: Show = talk.say
        self.at_table = {seat.pupil.folder: seat.pupil for seat in seats.values() if seat.pupil}
        self.pupils: list[Pupil] = []
        if learn is not False:
            if self.people and rules == LEARNER_RULES and LEARNER_FOLDER.exists():
                self.pupils.append(Pupil(LEARNER_FOLDER))
            self.pupils += self.at_table.values()

    def play_all(self, games: int, seed: int) -> None:
        """Play games, save them and print each result. Game i is sampled with `seed + i`."""
        if self.learn and not self.pupils:
            self.talk.say(
                "Nobody here learns: a trie that was trained on this computer does (latest:trie), "
                "and learner does; a table of the package does not."
            )
        for pupil in self.at_table.values():
            text = f"{title_of(pupil.name)} has {pupil.text}."
            if self.learn is False:
                text += " It does not learn from these games."
            self.talk.say(text, "dim")
        super().play_all(games, seed)

    def play(self, seed: int) -> Game | None:
        """Play a game; boards stand one below the other if a person plays, else in one place."""
        self._solve()
        shown = nullcontext(self.talk.say) if self.people else self.talk.in_place()
        with shown as self._show:
            return super().play(seed)

    def show(self, cells: Sequence[int], note: str = "") -> None:
        """Show the board after some moves, with values if they are wished."""
        now = game_state(cells, self.rules)
        board = now.board
        last = cells[-1] if cells else None
        seat = self._thinker(board)
        thoughts = exact = None
        if self.values and not now.ended:
            if seat.policy is not None:
                thoughts = seat.thoughts(board, self.values)
            if can_solve(self.rules):
                exact = analyse(board, self.rules)
        parts: list[RenderableType] = []
        if not self.people:
            parts.append(versus(self.players["X"], self.players["O"]))
        drawn = picture(
            board,
            self.rules,
            self.talk.console,
            last,
            thoughts=thoughts,
            exact=exact,
            name=title_of(seat.name),
        )
        parts.append(drawn)
        if note:
            parts.append(Text(note))
        self._show(Group(*parts))

    def move(self, side: str, cells: Sequence[int], board: Boards, rng: np.random.Generator) -> int:
        """The cell that a player chooses who is no person."""
        seat = self.seats[side]
        note = ""
        if seat.is_new(board):
            note = f"{self.who(side)} has never seen this position in training."
        if not self.people:
            self.show(cells, note)
            time.sleep(self.delay)
            return seat.move(board, rng)
        cell = seat.move(board, rng)
        self.talk.say(f"{note} {self.who(side)} plays {cell_text(cell, self.rules)}.".strip())
        return cell

    # --- what a person types --------------------------------------------------------------------

    def answer(self, side: str, board: Boards, plies: int) -> str | int:
        """The cell that a person chooses, or a command; those for values are followed."""
        answer = super().answer(side, board, plies)
        if isinstance(answer, str) and answer.startswith("values"):
            kind = answer.removeprefix("values").strip()
            if kind:
                self.values = kind
            else:
                self.values = "" if self.values else OWN
            self._solve()
        return answer

    def hint(self, board: Boards) -> str:
        """A sentence with the best moves, and with those that the agent values most."""
        self._solve(truths=True)
        found = super().hint(board)
        seat = self._thinker(board)
        if seat.policy is None or OWN not in seat.kinds or not can_solve(self.rules):
            return found
        values = seat.thoughts(board).values or []
        known = [value for value in values if value is not None]
        if not known or min(known) == max(known):
            return found  # equal values prefer no move
        highest = max(known)
        best = self.any_of(cell for cell, value in enumerate(values) if value == highest)
        name = title_of(seat.name)
        return f"{found} {name} gives its highest value, {number(highest)}, to {best}."

    def _thinker(self, board: Boards) -> Seat:
        """The seat whose values are shown: the side to move, or its opponent if a person moves."""
        side = side_to_move(board)
        if self.seats[side].is_person:
            side = other_side(side)
        return self.seats[side]

    def _solve(self, truths: bool = False) -> None:
        """Compute what is to be shown ahead, with a message while that takes long."""
        empty = np.zeros(self.rules.cells, np.int8)
        status = self.talk.console.status
        if self.rules.cells > TABULATED and can_solve(self.rules) and (truths or self.values):
            with status(f"solving {self.rules}"):
                analyse(empty, self.rules)
        for seat in self.seats.values():
            if self.values and seat.policy is not None and not seat.thinks_at_once:
                with status("computing values"):
                    seat.thoughts(empty, self.values)

    # --- the end ------------------------------------------------------------------------------

    def finish(self, game: Game) -> None:
        """Save a game. Print how it ended, what decided it, and how to replay it."""
        try:
            number = self.store.add(game)
        except StoreError:
            self.talk.say(f"the game could not be saved; as a line of text it is: {game.line()}")
            raise
        self._solve(truths=True)
        super().finish(game)
        for name, text in teach(self.pupils, game).items():
            self.talk.say(f"{title_of(name)} {text}.")
        replay = replay_command(number, self.store)
        self.talk.say(f"saved as game {number}; to see it again: {replay}", "dim")


def seats_of(specs: Sequence[str], rules: Rules, talk: Talk) -> dict[str, Seat]:
    """The seats of X and O. Raises ValueError for an unknown player or one of another board."""
    with talk.console.status("loading the players"):
        seats = {side: seat_of(spec, rules) for side, spec in zip(SIDES, specs, strict=True)}
    for side, seat in seats.items():
        if keeps(seat.policy, ReachPolicy) and side not in seat.policy.sides:
            text = f"{title_of(seat.name)} has no moves as {side}, so it plays at random."
            talk.say(printable(text))
    return seats


def versus(x_player: Participant, o_player: Participant) -> Text:
    """Both players, such as "Ann (X) against Perfect play (O)".

    One person without a name is "you"; of two, only the sides are said.
    """
    names = [called(player, title_of) for player in (x_player, o_player)]
    if names.count(PERSON) == 1:
        names[names.index(PERSON)] = "you"
    x, o = names
    return Text.assemble((who(x, "X"), STYLES["X"]), " against ", (who(o, "O"), STYLES["O"]))


def default_store() -> Path:
    """The file of the games in the user's data folder."""
    from platformdirs import user_data_path

    return user_data_path("tictactoe-env", appauthor=False) / "games.db"


def replay_command(number: int | None, store: GameStore) -> str:
    """The command that shows a game again."""
    words = ["play.py", "--replay", str(number)]
    if store.path != default_store():
        words += ["--store", str(store.path)]
    return command(*words)
