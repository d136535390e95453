"""The Gymnasium environment: one game at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from tictactoe_env.base_env import BaseEnv
from tictactoe_env.config import (
    BOARD_OPTIONS,
    RENDER_MODES,
    RESET_OPTIONS,
    Config,
    Start,
    check_environment,
    picture_of,
)
from tictactoe_env.engines import GameEngine, GameState, game_engine
from tictactoe_env.errors import checked_seed, whole_number
from tictactoe_env.observation import last_move, observation_space
from tictactoe_env.policy import Uniforms
from tictactoe_env.pool import Pool
from tictactoe_env.rules import ILLEGAL, ONGOING, OUTCOME_NUMBERS, Boards, mark_of, to_move

_OUTCOME = tuple(OUTCOME_NUMBERS)  # of a result: np.int8
ZERO = np.int8(0)
ONE = np.int8(1)
_MARKS = {1: np.int8(1), -1: np.int8(-1)}


class TicTacToeEnv(BaseEnv, gym.Env[NDArray[Any], np.int64]):
    """Tic-tac-toe, or another m,n,k-game, against an opponent that's part of the environment.

    ## Description
    X and O mark free cells in turn. X moves first. `k` or more marks in a row, column or diagonal
    win, and a full board without such a line is a draw. The learner plays one side. The opponent
    replies within the same step, and moves first if the learner is O.

    ## Action space
    `Discrete(rows * cols)`: the cell to mark, row by row from the top left.

        0 1 2      a1 b1 c1
        3 4 5      a2 b2 c2
        6 7 8      a3 b3 c3

    Only free cells are legal: see `info["action_mask"]` and `action_masks()`.

    With `actions="columns"`, as in `tictactoe_env/ConnectFour-v0`, it's `Discrete(cols)`: the
    column in which the piece falls, from 0 at the left. Masks are `(cols,)` then.

    ## Observation space
    The board as the learner sees it, whichever side it plays.

    | observation | space | meaning |
    | --- | --- | --- |
    | `"flat"` | `Box(0, 1, (2 * cells,), float32)` | 1 on own marks, then 1 on the opponent's |
    | `"planes"` | `Box(0, 1, (2, rows, cols), int8)` | plane 0: own marks, 1: the opponent's |
    | `"grid"` | `Box(-1, 1, (rows, cols), int8)` | +1 own mark, -1 the opponent's, 0 free |

    ## Rewards
    1 if the learner has won or the opponent has made an illegal move, -1 if the learner has lost or
    has made an illegal move, 0 for a draw and for every step before the end.

    ## Starting state
    The empty board, the board after `opening`, or a board from `start`. If it's the opponent's
    turn, it has already moved when `reset` returns.

    ## Episode end
    `terminated` is True when a side has a line, the board is full, or a move was illegal. With
    `early_draw` a game also ends, as a draw, as soon as every line has marks of both sides.
    `truncated` is always False.

    ## Info
    Four keys at every reset and step:

    - `action_mask`: int8 `(cells,)`, 1 on free cells, and everywhere once the game is over.
    - `side`: the learner's side, np.int8, +1 for X, -1 for O.
    - `outcome`: np.int8, +1 if the learner has won, -1 if it has lost, 0 for a draw and while the
      game goes on.
    - `illegal_move`: np.int8, 1 if an illegal move has ended the game, else 0.

    ## Arguments
    - `opponent` (`"random"`), one of:
      - a name such as `random`, `minimax-slip=0.1` or, on 3x3, `dqn`, or a saved run such as
        `runs/dqn-0`;
      - `self` or `best-response`, see Self-play below;
      - an object with `probs(boards)`, or with Stable-Baselines3's `predict`, whose best moves are
        played. A frozen copy of it plays, so it may learn on. What can't be frozen is refused: see
        `tictactoe_env.snapshot`;
      - a pool: a list of `[opponent, weight]` pairs, of which one is picked for each game. A pool
        of names may be text: `"random:0.5,minimax:0.25,self:0.25"`;
      - `None`: the caller moves for both sides, see Both sides below.
    - `side` (`"random"`): the learner's side, `"X"`, `"O"`, `"random"` or `"alternate"` (X first).
    - `rows`, `cols`, `k` (3, 3, 3): the size of the board, and how many marks in a line win. Boards
      up to 7x8 fit. Give `k` with every size other than 3x3.
    - `gravity` (`False`): only the lowest free cell of each column is legal.
    - `actions` (`"cells"`): with gravity also `"columns"`, see Action space above.
    - `illegal` (`"lose"`): an illegal move of the learner loses the game; with `"raise"` it raises
      `IllegalMoveError` and leaves the game as it was.
    - `rewards` (`{"win": 1, "draw": 0, "loss": -1, "illegal": -1}`): give any of the four.
    - `observation` (`"flat"`): `"flat"`, `"planes"` or `"grid"`.
    - `opening` (`""`): forced first moves of every game, such as `"b2 a1"`.
    - `start` (`"empty"`), one of:
      - `"empty"`: the empty board;
      - `"random"`, on up to 16 cells: an unfinished position, each equally likely. The learner is
        to move, and with `side="random"` it gets the side that is;
      - a function `start(seats, rng)`, such as `tictactoe_env.ExploringStarts`. `seats`, int8
        `(B,)`, has the learner's side in each of B new games, +1 for X or -1 for O. It returns
        unfinished boards `(B, cells)` of +1, -1 and 0, and the sides `(B,)`, which may be others.
    - `early_draw` (`False`): see Episode end above.
    - `symmetric` (`False`): see Symmetry below.
    - `render_mode` (`None`): `"ansi"` (text), `"rgb_array"`, or `"human"`, a window that needs the
      extra `render`.

    ## Self-play
    The opponent `"self"` plays as frozen snapshots of the learner, each equally likely.
    `add_snapshot(player)` adds one. Until there is one, the opponent plays at random.
    `"self-keep=8-replace=mixed"`, the default, keeps 8 snapshots. A further one replaces the
    `oldest`, a `random` one, or (`mixed`) either of these with equal probability.

    The opponent `"best-response"` plays the exact best reply to the best moves of the newest
    snapshot.

    ## Symmetry
    A board and its turned and mirrored images are the same game. With `symmetric=True` the learner
    sees only one of these images. Observation and mask show that image, and an action is a cell of
    it. Everything else stays on the real board. A network that learned so has to be evaluated so:
    `evaluate(policy, symmetric=True)`.

    ## Both sides
    With `opponent=None` each step is one move, by X and O in turn. `info["side"]` is the side to
    move, and the observation is the board as that side sees it. Reward and `outcome` belong to the
    side that has just moved. `copy.deepcopy(env)` is a second game that starts from this position.

    ## Reset
    The options of `reset(seed=, options=)` apply to the game that it starts:
    - `side`: "X" or "O".
    - `opponent`: as above.
    - `board`: the board to start from, such as "X.O/.X./...".

    The same seed gives the same games for the same actions.

    ## Ids
    `tictactoe_env/TicTacToe-v0` has all of these arguments. `tictactoe_env/ConnectFour-v0` has 6
    rows, 7 columns, 4 in a row, `gravity=True` and `actions="columns"`.

    With a colon, as in `tictactoe_env:TicTacToe-v0`, Gymnasium imports the package itself.

    The ids below set the opponent. Their `spec.reward_threshold` is the highest mean reward that
    any player can get over both sides.

    | id | opponent | reward threshold |
    | --- | --- | --- |
    | `tictactoe_env/TicTacToe-Random-v0` | `random` | 0.9598 |
    | `tictactoe_env/TicTacToe-MinimaxSlip-v0` | `minimax-slip=0.5` | 0.6935 |
    | `tictactoe_env/TicTacToe-Minimax-v0` | `minimax` | 0 |

    ## Version history
    * v0: initial version
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}

    def __init__(
        self,
        opponent: Any = "random",
        side: str = "random",
        rows: int = 3,
        cols: int = 3,
        k: int | None = None,
        illegal: str = "lose",
        rewards: Mapping[str, float] | None = None,
        observation: str = "flat",
        opening: str = "",
        start: str | Start = "empty",
        early_draw: bool = False,
        symmetric: bool = False,
        render_mode: str | None = None,
        gravity: bool = False,
        actions: str = "cells",
        **variant: Any,  # further fields of `Rules`
    ):
        super().__init__()
        if variant:
            check_environment(variant, TicTacToeEnv)
        self.config = config = Config.of(
            side=side,
            rows=rows,
            cols=cols,
            k=k,
            illegal=illegal,
            rewards=rewards,
            observation=observation,
            opening=opening,
            start=start,
            early_draw=early_draw,
            symmetric=symmetric,
            render_mode=render_mode,
            gravity=gravity,
            actions=actions,
            **variant,
        )
        self.rules = config.rules
        self.render_mode = render_mode
        self._window: Any = None
        if render_mode == "human":
            from tictactoe_env.render import Window  # imported here because most users never draw

            self._window = Window(self.metadata["render_fps"])
        else:  # checkers make an environment of each mode, and a window needs pygame and a display
            self.metadata = {**self.metadata, "render_modes": ["ansi", "rgb_array"]}
        self.observation_space = observation_space(self.rules, observation, symmetric)
        self.action_space = config.action_space()
        self._game: GameEngine[Any, Any] = game_engine(
            self.rules, early_draw, observation, symmetric, config.by_column
        )
        self._last_action = int(config.action_space().n) - 1
        self._rewards = config.reward_table.tolist()
        self._state: GameState | None = None
        self._before: GameState | None = None  # the state before the last step, for render()
        self._uniforms = Uniforms(self.np_random)
        self._running = False
        self._games_begun = 0
        self._replies: list[Any] = []
        self._reply: Any = None
        self._which: int | None = None  # the opponent of the pool that plays the current game
        self._starts = {seat: self._game.start(config.start_board, seat) for seat in _MARKS}
        self._both_sides = opponent is None
        if not self._both_sides:
            self.set_opponent(opponent)
        elif side != "random":
            raise ValueError(f"with opponent=None leave side out, got side={side!r}")

    def _use(self, pool: Pool, indices: NDArray[np.intp] | None = None) -> None:
        if self._both_sides:
            raise ValueError("an environment with opponent=None takes no opponent: make another")
        self._pool = pool
        self._replies = [self._game.prepare(policy) for policy in pool.policies]
        if indices is None:
            self._which = int(pool.draw(self.np_random, 1)[0])
        elif self._which is not None:  # None: the current game has an opponent of its own
            self._which = int(indices[self._which])
        if self._which is not None:
            self._reply = self._replies[self._which]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start a game: observation and info, after the opponent's move if it moves first.

        Raises ValueError, changing nothing, for a wrong seed or wrong options.
        """
        self._check_open()
        given: Mapping[str, Any] = {}
        pool = self._pool
        replies = self._replies
        if seed is not None or options is not None:
            given, pool, replies = self._options(seed, options)
        if self._uniforms.rng is not self._np_random:  # reseeded, or replaced by the user
            self._uniforms = Uniforms(self.np_random)
        # A start that is refused leaves no game.
        self._state = None
        self._running = False
        if replies:
            which = 0 if len(replies) == 1 else int(pool.draw(self.np_random, 1)[0])
            self._reply = replies[which]
            self._which = None if "opponent" in given else which
        before, side = self._start(given)
        if self._both_sides:
            state = before
            observation, mask = self._game.view(before)
        else:
            state, result, observation, mask = self._game.advance(
                before, None, self._reply, self._uniforms
            )
            if result != ONGOING:
                raise ValueError("the opponent's first move ended the game: change sides")
        self._games_begun += 1
        self._before = before
        self._state = state
        self._side = side
        self._running = True
        if self._window is not None:
            self.render()
        info = {"action_mask": mask, "side": side, "outcome": ZERO, "illegal_move": ZERO}
        return observation, info

    def _options(self, seed: Any, options: Any) -> tuple[Mapping[str, Any], Pool, list[Any]]:
        """The checked options of a reset, and the opponents of its game; seeds the generator."""
        known = BOARD_OPTIONS if self._both_sides else RESET_OPTIONS
        seed = checked_seed(seed)
        given = self.config.options(options, known)
        pool = self._checked_pool(given.get("opponent", self._pool), given)
        replies = self._replies
        if "opponent" in given:
            replies = [self._game.prepare(policy) for policy in pool.policies]
        if seed is not None:
            super().reset(seed=seed)
            self._games_begun = 0
        return given, pool, replies

    def _start(self, given: Mapping[str, Any]) -> tuple[GameState, np.int8]:
        """A new game, and the learner's mark: that of the mover, if the caller moves for both."""
        side = given.get("side", self.config.side)
        start = self.config.start
        seat = 1
        if not self._both_sides:
            if side == "random":
                seat = 1 if self._uniforms.draw() < 0.5 else -1
            elif side == "alternate":
                seat = -1 if self._games_begun % 2 else 1
            else:
                seat = mark_of(side)
        if "board" in given:
            board = given["board"]
        elif start != "empty":
            drawn = seat, self.np_random, self._counterexamples, side == "random"
            board, seat = self.config.drawn_board(*drawn)
        elif self._both_sides:
            board = self.config.start_board
        else:
            return self._starts[seat], _MARKS[seat]
        if self._both_sides:
            seat = int(to_move(board))
        return self._game.start(board, seat), _MARKS[seat]

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Mark a cell and let the opponent reply: observation, reward, terminated, False, info."""
        if not self._running:
            self._refuse()
        if type(action) is not int or not 0 <= action <= self._last_action:  # excludes bool
            action = whole_number(action, "an action", 0, self._last_action)
        before = self._state
        game = self._game
        side = self._side
        after, result, observation, mask = game.advance(before, action, self._reply, self._uniforms)
        if self._both_sides:
            side = -side
        if result == ILLEGAL and self.config.illegal == "raise":
            self.config.check_action(self.board, action)
        self._before = before
        self._state = after
        self._side = side
        if self._window is not None:
            self.render()
        info = {"action_mask": mask, "side": side, "outcome": ZERO, "illegal_move": ZERO}
        if result == ONGOING:
            return observation, 0.0, False, False, info
        self._running = False
        info["outcome"] = _OUTCOME[result]
        if result >= ILLEGAL:
            info["illegal_move"] = ONE
        return observation, self._rewards[result], True, False, info

    def _refuse(self) -> NoReturn:
        """Raise what is wrong where no game is running."""
        self._check_open()
        if self._state is None:
            raise ResetNeeded("there is no game before reset: call reset() to start one")
        raise ResetNeeded("the game is over: call reset() to start the next one")

    def action_masks(self) -> NDArray[np.bool_]:
        """The mask of `info["action_mask"]` as bool: (cells,), or (cols,). sb3-contrib calls it.

        Behind a wrapper it is `env.get_wrapper_attr("action_masks")()`. Gymnasium's
        `action_space.sample` takes int8 only: `info["action_mask"]`.
        """
        mask = self._game.view(self._started())[1]
        return mask.astype(bool) if self._running else np.ones(len(mask), dtype=bool)

    def get_keys_to_action(self) -> dict[tuple[int, ...], int]:
        """The action of each key for `gymnasium.utils.play`, on boards of up to 9 cells.

        The keys 1, 2, ... mark the cells row by row from the top left: 1 is a1, and 9 is c3 on 3x3.

            1 2 3      a1 b1 c1
            4 5 6      a2 b2 c2
            7 8 9      a3 b3 c3

        Call `play(env, wait_on_player=True)`, since otherwise each frame is a move, and hold a key
        until its mark is there. The render mode is "rgb_array". Raises ValueError for larger
        boards, where `play` needs `keys_to_action`. With actions="columns" they are the columns.
        """
        if self._last_action >= 9:
            raise ValueError(
                f"the keys 1 to 9 are too few for {self.rules}: give play your own keys_to_action"
            )
        return {(ord(str(action + 1)),): action for action in range(self._last_action + 1)}

    @property
    def board(self) -> Boards:
        """The board (cells,) int8: +1 X, -1 O, 0 free."""
        return self._game.board(self._started())

    def _started(self) -> GameState:
        """The state of the game; ResetNeeded or ClosedEnvironmentError if there is none."""
        if self._state is None:
            self._refuse()
        return self._state

    def render(self) -> Any:
        """The board as text ("ansi") or as uint8 (height, width, 3) ("rgb_array").

        The last move and a winning line are highlighted. In the mode "human" the window is drawn
        again and None is returned.
        """
        if (draw := picture_of(self.render_mode)) is None:
            return None
        board = self.board
        before = self._game.board(self._before)
        picture = draw(board, self.rules, last=last_move(before, board, int(self._side)))
        return picture if self._window is None else self._window.show(picture)

    def close(self) -> None:
        """Close the environment; a later reset or step raises ClosedEnvironmentError."""
        if self._window is not None:
            self._window.close()
        self.closed = True
        self._running = False
        self._state = None
