"""Environments against plain rules: every step of single and vector environments is compared.

Boards, opponents, sides, observations, rewards, openings and autoreset modes are drawn. Moves are
legal, illegal, or refused (no whole number, off the board). Refused calls must change neither the
games nor the generator. Copies must go on as the original does. What is returned must be fresh.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from attack.campaign import Case, Report, repeat
from attack.referee import MOST_CELLS, Board, End, Referee, Wrong, check
from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.notation import cell_text
from tictactoe_env.rules import IllegalMoveError, Rules

MODES = ("SAME_STEP", "NEXT_STEP", "DISABLED")
STEPS = 60  # of each environment
INFOS = ("action_mask", "side", "outcome", "illegal_move")


def run(seconds: float, seed: int, folder: Path) -> Report:
    """Attack until the time is over."""
    return repeat("rules", attack, seconds, seed, folder)


def attack(case: Case) -> Iterator[str]:
    """What differs from the plain rules in one environment."""
    made, referee = drawn(case.draw)
    play = case.draw.choice((play_single, play_many, play_many, play_both_sides))
    try:
        play(case, made, referee)
    except Wrong as wrong:
        yield f"{play.__name__}, {made}: {wrong}"


class Anywhere:
    """Plays on every cell alike, taken or free."""

    def probs(self, boards: Any) -> Any:
        """Probabilities (B, cells)."""
        return np.full(boards.shape, 1 / boards.shape[1])


def drawn(draw: Any) -> tuple[dict[str, Any], Referee]:
    """The arguments of an environment, and their referee."""
    while True:
        rows, cols = draw.choice(((3, 3), (draw.randint(1, 8), draw.randint(1, 8))))
        if max(rows, cols) > 1 and rows * (cols + 1) <= 64:
            break
    k = draw.randint(2, min(5, max(rows, cols)))
    is_small = rows * cols <= MOST_CELLS
    opponents: list[Any] = ["random", Anywhere(), [["random", 1], [Anywhere(), 2]]]
    opponents += ["minimax", "minimax-first", "minimax-slip=0.3"] * is_small
    opponent = draw.choice(opponents)
    rewards = {name: draw.choice((-2.0, -1.0, 0.0, 0.5, 3.0)) for name in ("win", "draw", "loss")}
    rewards["illegal"] = -7.0
    # An opening of one move, and an early draw, on boards that neither of them can end.
    is_wide = rows * cols >= 6 and k >= 3
    opening = [draw.randrange(rows * cols)] if is_wide and draw.random() < 0.3 else []
    made: dict[str, Any] = {
        "opponent": opponent,
        "side": draw.choice(("X", "O", "random", "alternate")),
        "rows": rows,
        "cols": cols,
        "k": k,
        "illegal": draw.choice(("lose", "lose", "raise")),
        "rewards": rewards,
        "observation": draw.choice(("planes", "grid", "flat")),
        "opening": " ".join(cell_text(cell, Rules(rows, cols, k)) for cell in opening),
        "early_draw": is_wide and draw.random() < 0.5,
    }
    referee = Referee(
        (rows, cols, k),
        made["observation"],
        made["early_draw"],
        rewards,
        made["side"],
        opening,
        is_legal=isinstance(opponent, str),
        is_perfect=opponent in ("minimax", "minimax-first"),
    )
    return made, referee


def drawn_cell(draw: Any, board: Board) -> int:
    """A free cell, in one of eight cases any cell."""
    free = [cell for cell, mark in enumerate(board) if mark == 0]
    return draw.choice(free) if draw.random() < 7 / 8 else draw.randrange(len(board))


# --- one game at a time ---------------------------------------------------------------------------


def play_single(case: Case, made: dict[str, Any], referee: Referee) -> None:
    """Games of one environment."""
    draw = case.draw
    env: Any = begun(case, lambda: TicTacToeEnv(**made))
    if env is None:
        return
    board: Board = ()
    seat, over, game = 0, True, -1
    for _ in range(STEPS):
        if over:
            seen, info = env.reset()
            game, seat = game + 1, int(info["side"])
            board, over = referee.board(seen, seat), False
            case.counts["games"] += 1
            referee.begins(board, seat, game)
            check_single(env, referee, (seen, 0.0, False, False, info), board, seat, End(False))
            continue
        if draw.random() < 0.1:
            env = refused_or_copied(draw, env, referee)
        cell = drawn_cell(draw, board)
        if board[cell] and made["illegal"] == "raise":
            expect(IllegalMoveError, env, env.step, cell)
            continue
        result = env.step(draw.choice((int, np.int64, np.int8))(cell))
        case.counts["steps"] += 1
        after = referee.board(result[0], seat)
        end = referee.steps(board, seat, cell, after)
        check_single(env, referee, result, after, seat, end)
        board, over = after, end.over
        if over:
            expect(ResetNeeded, env, env.step, 0)


def begun(case: Case, make: Any) -> Any:
    """An environment, or None where the opponent could end the game before the learner moves."""
    try:
        return make()
    except ValueError as error:
        check("first move" in str(error) or "opening" in str(error), "refused:", error)
        case.counts["refused to be made"] += 1
        return None


def check_single(
    env: Any, referee: Referee, result: Any, board: Board, seat: int, end: End
) -> None:
    """Check what `step` or `reset` returned."""
    seen, reward, terminated, truncated, info = result
    check(tuple(info) == INFOS, "infos", tuple(info))
    check(info["side"] == seat, "side", info["side"], "instead of", seat)
    check(tuple(env.board.tolist()) == board, "env.board", env.board, "observed", board)
    found = (bool(terminated), int(info["outcome"]), int(info["illegal_move"]))
    check(found == end, found, "instead of", end, "on", board)
    check((reward, truncated) == (referee.reward(end), False), "reward", reward, "for", end)
    mask = [int(mark == 0) for mark in board]
    check(info["action_mask"].tolist() == mask, "mask", info["action_mask"], "on", board)
    check(env.action_masks().tolist() == [one == 1 for one in mask], "action_masks()")
    seen[...] = 7  # what was returned is the caller's own
    info["action_mask"][...] = 7
    check(tuple(env.board.tolist()) == board, "an observation shares memory with", board)


def refused_or_copied(draw: Any, env: Any, referee: Referee) -> Any:
    """The environment after a refused call, or a copy of it that goes on alike."""
    if draw.random() < 0.5:
        wrong = draw.choice((-1, referee.cells, True, 1.0, "a1", None, 2**70, [0], np.float32(1)))
        expect((ValueError, TypeError), env, env.step, wrong)
        expect(ValueError, env, lambda board: env.reset(options={"board": board}), "XX")
        return env
    other = draw.choice((copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))))(env)
    free = np.flatnonzero(env.board == 0)
    twin = copy.deepcopy(other)
    for cell in draw.sample(free.tolist(), 1):
        one, two = other.step(cell), twin.step(cell)
        check(
            np.array_equal(one[0], two[0]) and one[1:4] == two[1:4] and state(other) == state(twin),
            "two copies go on in different ways",
        )
    return env


def state(env: Any) -> Any:
    """The generator's state."""
    return repr(env.unwrapped.np_random.bit_generator.state)


def expect(errors: Any, env: Any, call: Any, argument: Any) -> None:
    """A call that must raise, and change neither the boards nor the generator."""
    before, boards = state(env), boards_of(env)
    try:
        call(argument)
    except errors:
        check(np.array_equal(boards_of(env), boards), "a refused call has changed the board")
        check(state(env) == before, "a refused call has drawn a number")
        return
    raise Wrong(f"the argument {argument!r} was not refused with {errors}")


def boards_of(env: Any) -> Any:
    """The board or the boards of an environment."""
    return env.board if hasattr(env, "board") else env.boards


def play_both_sides(case: Case, made: dict[str, Any], referee: Referee) -> None:
    """Games in which the caller moves for both sides."""
    made = {**made, "opponent": None, "side": "random", "illegal": "lose"}
    env: Any = TicTacToeEnv(**made)
    for _ in range(6):
        seen, info = env.reset()
        board, over = referee.board(seen, int(info["side"])), False
        case.counts["games"] += 1
        while not over:
            seat, cell = referee.mover(board), drawn_cell(case.draw, board)
            check(info["side"] == seat, "side", info["side"], "on", board)
            seen, reward, over, _, info = env.step(cell)
            case.counts["steps"] += 1
            is_illegal = board[cell] != 0
            after = board if is_illegal else (*board[:cell], seat, *board[cell + 1 :])
            winner = referee.winner(after)
            end = End(True, -1, 1) if is_illegal else End(winner is not None, seat * (winner or 0))
            check(referee.board(seen, -seat) == after, "observed", seen, "instead of", after)
            check(int(info["side"]) == -seat, "the side does not change")
            found = (over, int(info["outcome"]), int(info["illegal_move"]))
            check(found == end and reward == referee.reward(end), found, reward, "for", end)
            board = after


# --- many games at a time -------------------------------------------------------------------------


def play_many(case: Case, made: dict[str, Any], referee: Referee) -> None:
    """Games of a vector environment."""
    draw = case.draw
    count, mode = draw.choice((1, 2, 5, 17)), draw.choice(MODES)
    limit = draw.choice((None, None, 1, 3))
    env: Any = begun(
        case,
        lambda: TicTacToeVectorEnv(count, autoreset_mode=mode, max_episode_steps=limit, **made),
    )
    if env is None:
        return
    games = Games(case, env, referee, mode, limit)
    for _ in range(STEPS // 3):
        games.step()


class Games:
    """The games of a vector environment, as the referee knows them."""

    def __init__(self, case: Case, env: Any, referee: Referee, mode: str, limit: int | None):
        self.case, self.draw, self.env, self.referee = case, case.draw, env, referee
        self.mode, self.limit = mode, limit
        count = env.num_envs
        self.boards: list[Board] = [()] * count
        self.seats, self.games, self.moves = [0] * count, [-1] * count, [0] * count
        self.over = [False] * count
        seen, infos = env.reset(seed=self.draw.randrange(2**32))
        for row in range(count):
            self.begin(row, seen, infos)
        self.check_rows(seen, infos)

    def begin(self, row: int, seen: Any, infos: Any) -> None:
        """Note the first board of a game."""
        self.seats[row] = int(infos["side"][row])
        self.boards[row] = self.referee.board(seen[row], self.seats[row])
        self.games[row] += 1
        self.moves[row], self.over[row] = 0, False
        self.case.counts["games"] += 1
        self.referee.begins(self.boards[row], self.seats[row], self.games[row] + row)

    def step(self) -> None:
        """One step of all games, and a reset of those that are over."""
        if self.mode == "DISABLED" and any(self.over):
            self.reset_some()
            if any(self.over):
                return
        cells = [
            self.draw.randrange(self.referee.cells) if over else drawn_cell(self.draw, board)
            for board, over in zip(self.boards, self.over, strict=True)
        ]
        env = self.env
        illegal = [
            row for row, cell in enumerate(cells) if self.boards[row][cell] and not self.over[row]
        ]
        if illegal and env.config.illegal == "raise":
            expect(IllegalMoveError, env, env.step, cells)
            return
        if self.draw.random() < 0.1:
            wrong = self.draw.choice(([-1] * len(cells), [0.5] * len(cells), [*cells, 0], None))
            expect(ValueError, env, env.step, wrong)
        twin = copy.deepcopy(env) if self.draw.random() < 0.1 else None
        results = env.step(np.array(cells, self.draw.choice((np.int64, np.int32, np.uint8))))
        self.case.counts["steps"] += len(cells)
        if twin is not None:
            again = twin.step(cells)
            same = all(np.array_equal(a, b) for a, b in zip(results[:4], again[:4], strict=True))
            check(same and state(env) == state(twin), "a copy goes on in another way")
        for row, cell in enumerate(cells):
            self.check_row(row, cell, results)
        self.check_rows(results[0], results[4])

    def reset_some(self) -> None:
        """Start some of the games that are over; a step before that is refused."""
        env, count = self.env, len(self.over)
        expect(ResetNeeded, env, env.step, [0] * count)
        mask = np.array([over and self.draw.random() < 0.7 for over in self.over])
        if not mask.any():
            return
        seen, infos = env.reset(options={"reset_mask": mask})
        for row in np.flatnonzero(mask).tolist():
            self.begin(row, seen, infos)

    def check_row(self, row: int, cell: int, results: Any) -> None:
        """Check what a step did to one game."""
        seen, rewards, terminated, truncated, infos = results
        found = (bool(terminated[row]), bool(truncated[row]), float(rewards[row]))
        if self.over[row]:  # NEXT_STEP: the action is ignored, and a new game begins
            check(found == (False, False, 0.0), "a new game begins with", found)
            self.begin(row, seen, infos)
            return
        is_final = self.mode == "SAME_STEP" and (found[0] or found[1])
        shown, told = (infos["final_obs"], infos["final_info"]) if is_final else (seen, infos)
        check(not is_final or infos["_final_obs"][row], "no last observation of game", row)
        seat, before = self.seats[row], self.boards[row]
        check(int(told["side"][row]) == seat, "the side of game", row, "has changed")
        after = self.referee.board(shown[row], seat)
        end = self.referee.steps(before, seat, cell, after)
        self.moves[row] += 1
        is_late = self.limit is not None and self.moves[row] >= self.limit and not end.over
        expected = (end.over, is_late, self.referee.reward(end))
        check(found == expected, found, "instead of", expected, "on", before, "by", cell)
        marks = (int(told["outcome"][row]), int(told["illegal_move"][row]))
        check(marks == end[1:], "outcome and illegal move", marks, "instead of", end)
        mask = [int(mark == 0) for mark in after]
        check(told["action_mask"][row].tolist() == mask, "the mask of", after)
        self.boards[row], self.over[row] = after, end.over or is_late
        if is_final:
            self.begin(row, seen, infos)

    def check_rows(self, seen: Any, infos: Any) -> None:
        """Check what is told of all games."""
        boards = [tuple(board) for board in self.env.boards.tolist()]
        check(boards == self.boards, "env.boards", boards, "instead of", self.boards)
        masks = [[int(mark == 0) for mark in board] for board in self.boards]
        check(infos["action_mask"].tolist() == masks, "masks on", boards)
        check(infos["side"].tolist() == self.seats, "sides", infos["side"], self.seats)
        seen[...] = 7
        infos["action_mask"][...] = 7
        check([tuple(one) for one in self.env.boards.tolist()] == boards, "memory is shared")
