"""Players that read and write text: language models, and anything else that can be asked.

    policy = TextPolicy(ask, Rules(), file="answers.jsonl")  # ask: prompts -> answers
    print(evaluate(policy), policy.unreadable, policy.illegal)
    GRPOTrainer(model, reward_funcs=regret, train_dataset=Dataset.from_list(positions()))

`notation.named_cell` finds the move of an answer: "a1 is taken, so b2" is b2, and so is "b2 (a1 is
taken)". A function `parse(answer, board)` of your own reads other forms: it returns the number of
the cell, or None if the answer means none.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from tictactoe_env import notation
from tictactoe_env.config import Config
from tictactoe_env.errors import one_of, whole_number
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.positions import can_enumerate, positions_of
from tictactoe_env.exact.provable import random_positions
from tictactoe_env.exact.solver import reason_unknown, solve
from tictactoe_env.policy import Probs
from tictactoe_env.rules import (
    ILLEGAL,
    Boards,
    IllegalMoveError,
    Rules,
    checked_rules,
    side_to_move,
)
from tictactoe_env.symmetry import canonical_forms, turned_back

__all__ = ["TextEnv", "TextPolicy", "board_prompt", "positions", "regret"]

ILLEGAL_REGRET = -3.0  # the worst legal move turns a win into a loss, which is -2
# The size and the rows, which may be indented or quoted.
_PROMPT = re.compile(r"on the board (\S+): .*\n((?:[> \t]*[XO.]+[ \t\r]*\n)+)")


def board_prompt(board: Boards, rules: Rules) -> str:
    """The default prompt for a board (cells,): the mark to play, the rows, the legal cells.

    You play O in tic-tac-toe on the board 3x3x3: rows x columns x marks in a row.
    X.O
    .X.
    ...
    a1 is the cell at the top left, c3 at the bottom right. Legal cells: b1 a2 c2 a3 b3 c3.
    End your answer with the cell that you mark.

    Where pieces fall, it says so, and lists the columns too.
    """
    board = np.asarray(board)
    is_one = board.shape == (checked_rules(rules).cells,)
    if not is_one or not {*board.tolist()} <= {-1, 0, 1}:
        got = " ".join(repr(board).split())
        raise ValueError(f"a board must be {rules.cells} numbers of +1, -1 and 0, got {got:.200}")
    side = side_to_move(board)
    names = [*notation.cells_by_name(rules)]
    rows = notation.board_text(board, rules).replace("/", "\n")
    size = f"the board {notation.rules_text(rules)}: rows x columns x marks in a row."
    corners = f"a1 is the cell at the top left, {names[-1]} at the bottom right."
    legal = np.flatnonzero(rules.legal_cells(board)).tolist()
    todo = f" Legal cells: {' '.join(names[cell] for cell in legal)}."
    ends = "\nEnd your answer with the cell that you mark."
    if rules.gravity:
        columns = [*notation.columns_by_name(rules)]
        corners += f" Columns are a to {columns[-1]}, or 1 to {rules.cols}, from the left."
        corners += " Pieces fall to the lowest free cell of their column."
        open_columns = sorted(cell % rules.cols for cell in legal)
        letters = " ".join(columns[col] for col in open_columns)
        numbers = " ".join(str(col + 1) for col in open_columns)
        todo += f" Legal columns: {letters}, or {numbers}."
        ends = "\nEnd your answer with your column, or with the cell that you mark."
    todo += ends
    if rules.is_over(*rules.to_bits(board[None])).any():
        todo = " The game is over."
    return f"You play {side} in {_game(rules)} on {size}\n{rows}\n{corners}{todo}"


@lru_cache(maxsize=256)
def _game(rules: Rules) -> str:
    """The name of the game that a board is for."""
    if rules == Rules():
        return "tic-tac-toe"
    if rules == CONNECT_FOUR:
        return "Connect Four"
    if rules.gravity:
        return f"a game of {rules.k} in a row with falling pieces"
    return f"a game of {rules.k} in a row"


Parse = Callable[[str, Boards], int | None]


def _parse(parse: Parse | None, rules: Rules) -> Parse:
    """The function that finds the cell of an answer on a board; ValueError for what is no cell."""
    if parse is not None:
        _function("parse", parse)
    return partial(_cell_of, parse, rules)


def _cell_of(parse: Parse | None, rules: Rules, answer: str, board: Boards) -> int | None:
    if parse is None:
        return notation.named_cell(answer, rules, board)
    cell = parse(answer, board)
    if cell is None:
        return None
    return whole_number(cell, "what parse returns, if it is not None,", 0, rules.cells - 1)


def _function(name: str, value: Any) -> Any:
    """`value` if it can be called; ValueError otherwise."""
    if not callable(value):
        raise ValueError(f"{name} must be a function, got {value!r:.200}")
    return value


class TextPolicy:
    """The policy of any function that answers prompts, such as a language model.

    ask: called with a list of at most `batch` prompts; returns their answers. prompt: makes the
    text for a board (cells,), `board_prompt` by default; boards of the same text get the same
    answer. symmetric: ask about one image of symmetric boards, the canonical form, and turn its
    move back. That is another player than the one that is asked about all of them.
    file: where the answers are kept after each call of `ask`, each as a line of JSON,
    {"prompt": ..., "answer": ...}. No prompt of it is asked again, so a proof that was ended goes
    on. A damaged line costs its answer only. parse: finds the cell (a number) of an answer on a
    board (cells,), or None; by default `notation.named_cell`.

    An answer that names no cell is no move, and loses as one that names a taken cell does;
    `unreadable` and `illegal` count these prompts, as far as boards were played. What is proven
    holds for the answers that are kept: a model that draws them may give others the next time.
    """

    varies = ""  # no prompt is asked twice

    def __init__(
        self,
        ask: Callable[[list[str]], Iterable[str]],
        rules: Rules,
        *,
        prompt: Callable[[Boards], str] | None = None,
        symmetric: bool = False,
        file: str | Path | None = None,
        batch: int = 8,
        parse: Parse | None = None,
    ):
        self.ask = _function("ask", ask)
        self.rules = checked_rules(rules)
        if prompt is None:
            prompt = partial(board_prompt, rules=rules)
        self.prompt = _function("prompt", prompt)
        self.parse = _parse(parse, rules)
        self.batch = whole_number(batch, "batch", 1)
        if not isinstance(symmetric, bool):
            raise ValueError(f"symmetric must be True or False, got {symmetric!r:.200}")
        self.plays_symmetrically = symmetric
        self._forms = canonical_forms(rules, symmetric)
        self.file = None if file is None else _writable(file)
        self.answers = {} if self.file is None else _kept(self.file)
        self._unreadable = set[str]()
        self._illegal = set[str]()

    @property
    def unreadable(self) -> int:
        """The number of prompts whose answers name no cell."""
        return len(self._unreadable)

    @property
    def illegal(self) -> int:
        """The number of prompts whose answers name a cell that is taken, or not legal."""
        return len(self._illegal)

    def probs(self, boards: Boards) -> Probs:
        """1 on the cell of each answer: (B, cells); a row of zeros where it names none."""
        boards = np.asarray(boards, dtype=np.int8)
        cells = self._forms.to_form(boards)[2]
        seen = np.take_along_axis(boards, cells, axis=1)
        prompts = [self.prompt(board) for board in seen]
        if wrong := [one for one in prompts if not isinstance(one, str)]:
            raise ValueError(f"prompt must return a text, got {wrong[0]!r:.200}")
        self._answer([one for one in dict.fromkeys(prompts) if one not in self.answers])
        found = np.zeros(boards.shape)
        legal_cells = self.rules.legal_cells(seen)
        for row, prompt, board, legal in zip(found, prompts, seen, legal_cells, strict=True):
            cell = self.parse(self.answers[prompt], board)
            if cell is None:
                self._unreadable.add(prompt)
            else:
                row[cell] = 1
                if not legal[cell]:
                    self._illegal.add(prompt)
        return turned_back(found, cells)

    def _answer(self, prompts: list[str]) -> None:
        """Ask, and keep the answers as they come."""
        for first in range(0, len(prompts), self.batch):
            part = prompts[first : first + self.batch]
            answers = self.ask(part)
            texts = [*answers] if _is_list(answers) else []
            if len(texts) != len(part) or not all(isinstance(one, str) for one in texts):
                got = " ".join(repr(texts or answers).split())
                raise ValueError(f"ask must return {len(part)} texts in a list, got {got:.200}")
            found = dict(zip(part, texts, strict=True))
            self.answers |= found
            self.keep(found)

    def keep(self, answers: Mapping[str, str]) -> None:
        """Append the answers to some prompts to the file, if there is one."""
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as file:
                for prompt, answer in answers.items():
                    file.write(json.dumps({"prompt": prompt, "answer": answer}) + "\n")


def _is_list(value: Any) -> bool:
    """True for a list or another row of things, none of which is a letter or a name."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, Set))


def _writable(file: Any) -> Path:
    """The path of a file that is there, or was made, and can be written; ValueError otherwise."""
    try:
        path = Path(file)
        if path.exists() and not path.is_file():
            raise OSError("it is no file")
        path.open("ab").close()
    except (OSError, TypeError, ValueError) as error:
        got = " ".join(f"{file!r:.200}: {error}".split())
        raise ValueError(
            f"file must be the path of a file that can be written, got {got}"
        ) from None
    return path


def _kept(file: Path) -> dict[str, str]:
    """The answers in a file, without those of damaged lines; ends its last line."""
    data = file.read_bytes()
    if data and not data.endswith(b"\n"):
        with file.open("ab") as end:
            end.write(b"\n")
    found: dict[str, str] = {}
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):  # of a program that was killed, or of no program
            match json.loads(line):
                case {"prompt": str(prompt), "answer": str(answer)}:
                    found[prompt] = answer
    return found


def positions(
    rules: Rules = Rules(),  # noqa: B008
    which: str = "all",
    games: int | None = None,
    seed: int = 0,
) -> list[dict[str, str]]:
    """Rows of a data set, as TRL reads them: [{"prompt": ...}] with a `board_prompt` each.

    which: "all" unfinished positions, 4,520 on 3x3, or those "that matter", in which not all legal
    moves are equally good. games: take them from so many random games, each once, instead of from
    all games: above 16 cells, where it must be given. seed: of these games.
    Raises ValueError above 16 cells without `games`, and for those "that matter" where the best
    moves are not known.
    """
    one_of("choice of positions", which, ("all", "that matter"))
    rules = checked_rules(rules)
    if games is not None:
        games = whole_number(games, "games", 1)
        boards = random_positions(rules, games, whole_number(seed, "seed", 0))
    elif can_enumerate(rules):
        table = positions_of(rules)
        boards = table.boards_at(table.unfinished)
    else:
        raise ValueError(f"{rules} has too many positions to list: take some of them, games=100")
    if which == "that matter":
        boards = boards[(solve(rules).optimal(boards) != rules.legal_cells(boards)).any(axis=1)]
    return [{"prompt": board_prompt(board, rules)} for board in boards]


def regret(
    prompts: Sequence[Any], completions: Sequence[Any], parse: Parse | None = None, **rest: Any
) -> list[float]:
    """The exact rewards of answers to prompts, as a reward function of TRL.

    0 for a best move, else how much worse the result is with best play of both sides: -1 or -2. An
    answer that names no cell or an illegal one gets -3, and so does what is no text.
    prompts, completions: texts, or chats, which are lists of {"role": ..., "content": ...}; a
    content may be a list of parts. The board is read from the last `board_prompt` in a prompt that
    can be judged; it may stand between other texts. parse: as of `TextPolicy`. rest: what else TRL
    gives, not used.
    Raises ValueError for a prompt without a board that can be judged: an unfinished one of at most
    16 cells, or of Connect Four on 6x7 where bitbully is installed, which play can reach. Call
    `regret(prompts, prompts)` with all prompts of a data set of your own before a training, which
    it then can't end.
    """
    found = []
    for what, given in (("prompts", prompts), ("completions", completions)):
        if not _is_list(given):
            raise ValueError(f"{what} must be a list of texts or chats, got {given!r:.200}")
    for prompt, completion in zip(prompts, map(_text, completions), strict=True):
        rules, board, values = _judged(prompt)
        cell = _parse(parse, rules)(completion, board)
        if cell is None or values[cell] == -2:
            found.append(ILLEGAL_REGRET)
        else:
            found.append(float(values[cell] - max(values)))
    return found


class _Judged(NamedTuple):
    """A board (cells,), and the mover's result after each move with best play, -2 if illegal."""

    rules: Rules
    board: Boards
    values: list[float]


def _judged(prompt: Any) -> _Judged:
    """The last board in a prompt that can be judged; ValueError if there is none."""
    reason = ""
    for size, rows in reversed(_PROMPT.findall(_text(prompt))):
        try:
            rules = notation.parse_size(size)
            if unknown := reason_unknown(rules):
                raise ValueError(unknown)
            board = notation.parse_board("/".join(re.findall("[XO.]+", rows)), rules)
            values = solve(rules).move_values(board[None])[0].tolist()
            if max(values) == -2:
                raise ValueError("the game is over")
            return _Judged(rules, board, values)
        except (ValueError, RecursionError) as error:
            reason = reason or f": {error}"
    raise ValueError(
        f"a prompt must contain a board_prompt of an unfinished board, got {prompt!r:.200}{reason}"
    )


def _text(one: Any) -> str:
    """The text of a message, a part of one or a chat, or a text as it is; "" if there is none."""
    if isinstance(one, str):
        return one
    if isinstance(one, Mapping):
        return _text(one.get("content", one.get("text")))
    if isinstance(one, (list, tuple)):
        return "\n".join(map(_text, one))
    return ""


class _AnyText(gym.spaces.Text):
    """The space of all texts; its samples are short ones of printable ASCII."""

    def __init__(self) -> None:
        super().__init__(100, min_length=0, charset=string.printable)

    def contains(self, x: Any) -> bool:
        """True for a text."""
        return isinstance(x, str)


class TextEnv(gym.Wrapper, gym.utils.RecordConstructorArgs):
    """An environment of this package that is seen and played as text, by agents that speak.

    An observation is the `board_prompt` of the board, and an action any text that names a cell or,
    where pieces fall, a column. A text that names none is an illegal move: it ends the game with
    the reward of one, or raises IllegalMoveError with `illegal="raise"`. parse: as of `TextPolicy`.
    """

    def __init__(self, env: gym.Env[Any, Any], parse: Parse | None = None):
        config = None
        if isinstance(env, gym.Env) and env.has_wrapper_attr("config"):
            config = env.get_wrapper_attr("config")
        if not isinstance(config, Config):
            raise ValueError(f"env must be a TicTacToeEnv or a wrapper of one, got {env!r:.200}")
        gym.utils.RecordConstructorArgs.__init__(self, parse=parse)
        gym.Wrapper.__init__(self, env)
        self._config = config
        self._parse = _parse(parse, config.rules)
        self.action_space = _AnyText()
        self.observation_space = gym.spaces.Text(4_096, charset=string.printable)
        self._info: dict[str, Any] | None = None  # of the running game

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start a game: the first prompt and the info."""
        _, self._info = self.env.reset(seed=seed, options=options)
        return self._seen(), self._info

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """Make the move that the text names."""
        if self._info is None:
            raise gym.error.ResetNeeded("no game is running: call reset() to start one")
        if not isinstance(action, str):
            raise ValueError(f"an action must be a text, got {action!r:.200}")
        rules = self._config.rules
        board = self._board()
        move = self._parse(action, board)
        if self._config.illegal == "raise":
            self._check(action, move)
        if move is not None and self._config.by_column:
            # No column stands for a cell that is not the lowest free one.
            is_legal = rules.legal_cells(board)[move]
            move = move % rules.cols if is_legal else None
        if move is None:
            end = {"outcome": np.int8(-1), "illegal_move": np.int8(1)}
            end["action_mask"] = np.ones_like(self._info["action_mask"])
            info = deepcopy(self._info) | end
            self._info = None
            return self._seen(), float(self._config.reward_table[ILLEGAL]), True, False, info
        _, reward, terminated, truncated, info = self.env.step(move)
        self._info = None if terminated or truncated else info
        return self._seen(), reward, terminated, truncated, info

    def _check(self, action: str, move: int | None) -> None:
        """Raise IllegalMoveError if the text names no cell or, where pieces fall, no legal one."""
        rules = self._config.rules
        if move is None:
            what = "column such as d" if rules.gravity else "cell such as b2"
            raise IllegalMoveError(f"an action must name a {what}, got {action!r:.200}")
        if rules.gravity:
            board = self._board()
            is_full = bool(board[move % rules.cols])
            notation.check_move(board, move, rules, is_column=is_full)

    def _board(self) -> Boards:
        return self._config.seen(self.env.get_wrapper_attr("board"))

    def _seen(self) -> str:
        return board_prompt(self._board(), self._config.rules)
