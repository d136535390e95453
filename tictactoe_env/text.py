"""Players that read and write text: language models, and anything else that can be asked.

    policy = TextPolicy(ask, Rules(), file="answers.jsonl")  # ask: prompts -> answers
    print(evaluate(policy), policy.unreadable, policy.illegal)
    GRPOTrainer(model, reward_funcs=regret, train_dataset=Dataset.from_list(positions()))

The last cell that a text names is the move: "a1 is taken, so b2" is b2. A name such as "d4", which
is no cell of 3x3, does not count there.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from tictactoe_env import notation
from tictactoe_env.errors import one_of, whole_number
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.exact.solver import solve
from tictactoe_env.policy import Probs
from tictactoe_env.rules import ILLEGAL, SIDES, Boards, IllegalMoveError, Rules, checked_rules
from tictactoe_env.symmetry import canonical_forms, turned_back

__all__ = ["TextEnv", "TextPolicy", "board_prompt", "positions", "regret"]

ILLEGAL_REGRET = -3.0  # the worst legal move turns a win into a loss, which is -2
_PROMPT = re.compile(r"on the board (\S+): .*\n((?:[XO.]+\n)+)")


def board_prompt(board: Boards, rules: Rules) -> str:
    """The default prompt for a board (cells,): the mark to play, the rows, the legal cells.

    You play O in tic-tac-toe on the board 3x3x3: rows x columns x marks in a row.
    X.O
    .X.
    ...
    a1 is the cell at the top left, c3 at the bottom right. Legal cells: b1 a2 c2 a3 b3 c3.
    Answer with the cell that you mark.
    """
    side = SIDES[np.count_nonzero(board) % 2]
    names = [*notation.cells_by_name(rules)]
    rows = notation.board_text(board, rules).replace("/", "\n")
    legal = " ".join(names[cell] for cell in np.flatnonzero(rules.legal_cells(board)))
    todo = f"Legal cells: {legal}.\nAnswer with the cell that you mark."
    if rules.is_over(*rules.to_bits(board[None])).any():
        todo = "The game is over."
    size = f"the board {notation.rules_text(rules)}: rows x columns x marks in a row."
    corners = f"a1 is the cell at the top left, {names[-1]} at the bottom right."
    return f"You play {side} in tic-tac-toe on {size}\n{rows}\n{corners} {todo}"


class TextPolicy:
    """The policy of any function that answers prompts, such as a language model.

    ask: called with a list of at most `batch` prompts; returns their answers. prompt: makes the
    text for a board (cells,), `board_prompt` by default; boards of the same text get the same
    answer. symmetric: ask about one image of symmetric boards, the canonical form, and turn its
    move back. That is another player than the one that is asked about all of them.
    file: where the answers are kept after each call of `ask`, each as a line of JSON,
    {"prompt": ..., "answer": ...}. No prompt of it is asked again, so a proof that was ended goes
    on. A damaged line costs its answer only.

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
    ):
        self.ask, self.rules = ask, checked_rules(rules)
        self.prompt = prompt or (lambda board: board_prompt(board, rules))
        self.batch = whole_number(batch, "batch", 1)
        self._is_symmetric = symmetric
        self._forms = canonical_forms(rules, symmetric)
        self.file = None if file is None else Path(file)
        self.answers = {} if self.file is None else _kept(self.file)
        self._unreadable = set[str]()
        self._illegal = set[str]()

    @property
    def plays_symmetrically(self) -> bool:
        """Whether it is asked about one image of symmetric boards."""
        return self._is_symmetric

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
        self._answer([one for one in dict.fromkeys(prompts) if one not in self.answers])
        found = np.zeros(boards.shape)
        for row, prompt, legal in zip(found, prompts, self.rules.legal_cells(seen), strict=True):
            cell = notation.named_cell(self.answers[prompt], self.rules)
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
            answers = [*self.ask(part)]
            if len(answers) != len(part) or not all(isinstance(one, str) for one in answers):
                raise ValueError(
                    f"ask must return {len(part)} texts in a list, got {answers!r:.200}"
                )
            found = dict(zip(part, answers, strict=True))
            self.answers |= found
            if self.file is not None:
                with self.file.open("a", encoding="utf-8") as file:
                    for prompt, answer in found.items():
                        file.write(json.dumps({"prompt": prompt, "answer": answer}) + "\n")


def _kept(file: Path) -> dict[str, str]:
    """The answers in a file, without those of damaged lines; ends its last line."""
    data = file.read_bytes() if file.exists() else b""
    if data and not data.endswith(b"\n"):
        with file.open("ab") as end:
            end.write(b"\n")
    found: dict[str, str] = {}
    for line in data.splitlines():
        try:
            one = json.loads(line)
        except ValueError:  # a program was killed while it wrote this line
            continue
        found[one["prompt"]] = one["answer"]
    return found


def positions(rules: Rules = Rules(), which: str = "all") -> list[dict[str, str]]:  # noqa: B008
    """Rows of a data set, as TRL reads them: [{"prompt": ...}] with a `board_prompt` each.

    which: "all" unfinished positions, 4,520 on 3x3, or those "that matter", in which not all legal
    moves are equally good. Raises ValueError above 16 cells.
    """
    one_of("choice of positions", which, ("all", "that matter"))
    table = positions_of(rules)
    boards = table.boards_at(table.unfinished)
    if which == "that matter":
        boards = boards[(solve(rules).optimal(boards) != rules.legal_cells(boards)).any(axis=1)]
    return [{"prompt": board_prompt(board, rules)} for board in boards]


def regret(prompts: Sequence[Any], completions: Sequence[Any], **rest: Any) -> list[float]:
    """The exact rewards of answers to prompts, as a reward function of TRL.

    0 for a best move, else how much worse the result is with best play of both sides: -1 or -2. An
    answer that names no cell or an illegal one gets -3.
    prompts, completions: texts, or chats, which are lists of {"role": ..., "content": ...}. The
    board is read from the last `board_prompt` in a prompt, which may stand between other texts.
    rest: what else TRL gives, not used. Raises ValueError for a prompt without a board, and for
    boards of more than 16 cells.
    """
    found = []
    for prompt, completion in zip(map(_text, prompts), map(_text, completions), strict=True):
        boards = _PROMPT.findall(prompt)
        if not boards:
            raise ValueError(f"a prompt must contain a board_prompt, got {prompt!r:.200}")
        size, rows = boards[-1]
        rules = notation.parse_size(size)
        board = notation.parse_board("/".join(rows.split()), rules)
        values = solve(rules).move_values(board[None])[0].tolist()
        cell = notation.named_cell(completion, rules)
        is_legal = cell is not None and values[cell] > -2
        found.append(float(values[cell] - max(values)) if is_legal else ILLEGAL_REGRET)
    return found


def _text(one: Any) -> str:
    """A text as it is, or the texts of a chat."""
    return one if isinstance(one, str) else "\n".join(part["content"] or "" for part in one)


class TextEnv(gym.Wrapper, gym.utils.RecordConstructorArgs):
    """An environment of this package that is seen and played as text, by agents that speak.

    An observation is the `board_prompt` of the board, and an action any text that names a cell. A
    text that names none is an illegal move: it ends the game with the reward of one, or raises
    IllegalMoveError with `illegal="raise"`.
    """

    def __init__(self, env: gym.Env[Any, Any]):
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self._config = env.get_wrapper_attr("config")
        if self._config.by_column:
            raise ValueError('a text names a cell: leave actions="columns" out')
        space = gym.spaces.Text(4_096, min_length=0, charset=string.printable)
        self.observation_space = self.action_space = space
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
        cell = notation.named_cell(action, self._config.rules)
        if cell is None and self._config.illegal == "raise":
            raise IllegalMoveError(f"an action must name a cell such as b2, got {action!r:.200}")
        if cell is None:
            info = deepcopy(self._info) | {"outcome": np.int8(-1), "illegal_move": np.int8(1)}
            self._info = None
            return self._seen(), float(self._config.reward_table[ILLEGAL]), True, False, info
        _, reward, terminated, truncated, info = self.env.step(cell)
        self._info = None if terminated or truncated else info
        return self._seen(), reward, terminated, truncated, info

    def _seen(self) -> str:
        board = self._config.seen(self.env.get_wrapper_attr("board"))
        return board_prompt(board, self._config.rules)
