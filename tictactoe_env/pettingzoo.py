"""The game for PettingZoo: an AEC environment in which the caller moves for both players.

Its planes are channel first, (2, rows, cols), as PyTorch takes them. Those of PettingZoo's own
board games are channel last, (rows, cols, 2). Leave out the `moveaxis(-1, -3)` of a program that
was written for these: here it mixes up the cells, and no error tells.

    from tictactoe_env import pettingzoo as tictactoe

    env = tictactoe.env(rows=3, cols=3, k=3, observation="flat")
    env.reset(seed=0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        over = terminated or truncated
        env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

It needs the extra `pettingzoo`: `pip install "tictactoe-env[pettingzoo]"`. `TicTacToeAECEnv`
documents the environment. PettingZoo 1.27 and newer also make it by its id, after
`import tictactoe_env.pettingzoo`: `pettingzoo.make("aec", "tictactoe_env/TicTacToe-v0")`, or
`"tictactoe_env/ConnectFour-v0"`, whose actions are the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded

try:
    import pettingzoo
    from pettingzoo import AECEnv
    from pettingzoo.utils.wrappers import OrderEnforcingWrapper
except ImportError as error:
    raise ImportError(
        'tictactoe_env.pettingzoo needs PettingZoo: pip install "tictactoe-env[pettingzoo]"'
    ) from error

from tictactoe_env.config import BOARD_OPTIONS, RENDER_MODES, Config, check_environment
from tictactoe_env.env import TicTacToeEnv
from tictactoe_env.errors import one_of, unknown_name, whole_number
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.notation import rules_text
from tictactoe_env.observation import observation_space, observe
from tictactoe_env.rules import OUTCOME_NUMBERS, Boards, Outcome, Rules

__all__ = ["AGENTS", "TicTacToeAECEnv", "env", "raw_env"]

ENV_IDS = ("tictactoe_env/TicTacToe-v0", "tictactoe_env/ConnectFour-v0")
AGENTS = ("player_1", "player_2")
"""The names of the players: X, who moves first on the empty board, and O."""
_MARKS = {"player_1": 1, "player_2": -1}
_OTHER = {"player_1": "player_2", "player_2": "player_1"}
# The result of the side that has moved, by its outcome.
_ENDS = {1: Outcome.WIN, 0: Outcome.DRAW, -1: Outcome.LOSS}


def _name(rules: Rules) -> str:
    """The name of the environment of a board, such as "tictactoe_env_4x4x3_v0"."""
    if rules == Rules():
        return "tictactoe_env_v0"
    if rules == CONNECT_FOUR:
        return "tictactoe_env_connect_four_v0"
    return f"tictactoe_env_{rules_text(rules)}_v0"


class TicTacToeAECEnv(AECEnv):  # type: ignore[misc,unused-ignore]
    """Tic-tac-toe, or any m,n,k-game. The caller moves for both sides, one move a step.

    ## Description
    X and O mark free cells in turn; X moves first. `k` marks in a row, column or diagonal win. A
    full board without such a line is a draw. There is no opponent in this environment:
    `agent_selection` names the player whose move `step` expects. `metadata["name"]` names the
    board: `tictactoe_env_v0` is 3x3, and other names are `tictactoe_env_connect_four_v0` and
    `tictactoe_env_4x4x3_v0`.

    ## Agents
    `"player_1"` is X and `"player_2"` is O, the names of PettingZoo's own `tictactoe_v3`. player_1
    moves first, except from a board on which it is O's turn.

    ## Action space
    `Discrete(rows * cols)` for both: the cell to mark, row by row from the top left.

        0 1 2      a1 b1 c1
        3 4 5      a2 b2 c2
        6 7 8      a3 b3 c3

    PettingZoo's `tictactoe_v3` counts column by column. After the end of a game each agent is
    stepped once more, with the action None, as in every AEC environment.

    ## Observation space
    A `Dict` with two keys, the same for both agents:
    - `observation`: the board as this agent sees it, in the form that the argument `observation`
      names; the table in `TicTacToeEnv` has them. Planes are channel first;
      `numpy.moveaxis(planes, -3, -1)` makes them channel last, as in PettingZoo's own games.
    - `action_mask`: int8 `(cells,)`, 1 on free cells for the agent whose turn it is. For the other
      one, and for both once the game is over, it's 1 everywhere: their actions are ignored, and so
      nobody has to sample from an empty mask, for example behind `turn_based_aec_to_parallel`. In
      PettingZoo's own board games it's 0 everywhere for them.

    `state()` is the board as X sees it, `Box(-1, 1, (rows, cols), int8)`: +1 X, -1 O, 0 free.

    ## Rewards
    The last move of a game gives both agents their reward: 1 for a win, 0 for a draw, -1 for a loss
    and -1 for an illegal move; `rewards` changes these numbers. The other agent of an illegal move
    gets the reward for a win. Every other move gives 0.

    ## Starting state
    The empty board, the board after `opening`, or a board drawn by `start`.

    ## Episode end
    `terminations` are True when a side has a line, the board is full, or a move was illegal; with
    `early_draw` also when every line has marks of both sides. `truncations` are True after
    `max_cycles` moves of each player, if the game is not over then.

    ## Infos
    Numbers, the same keys at all times, for each agent:
    - `side`: np.int8, +1 for X and -1 for O.
    - `outcome`: np.int8, +1 after a win of this agent, -1 after a loss, 0 after a draw and while
      the game goes on.
    - `illegal_move`: np.int8, 1 if an illegal move ended the game; the outcome says whose.

    ## Arguments
    - `rows`, `cols`, `k` (3, 3, 3): the size of the board and the length of a winning line;
      1 <= k <= max(rows, cols) and rows * (cols + 1) <= 64. Give `k` with every size other than
      3x3.
    - `gravity` (`False`): pieces fall, as in Connect Four. Only the lowest free cell of each column
      is legal. `actions="columns"` makes the columns the actions, `Discrete(cols)`.
    - `illegal` (`"lose"`): `"lose"` ends the game at an illegal move; `"raise"` raises
      `IllegalMoveError` and leaves the game as it was.
    - `rewards` (`{"win": 1, "draw": 0, "loss": -1, "illegal": -1}`): give any of these four.
    - `observation` (`"planes"`): `"planes"`, `"grid"` or `"flat"`.
    - `opening` (`""`): forced first moves of every game, such as `"b2"` or `"b2 a1"`.
    - `start` (`"empty"`): `"empty"`; `"random"`, an unfinished position drawn uniformly, on boards
      of up to 16 cells; or a function `start(seats, rng)` as in `TicTacToeEnv`, called with the
      seats `[1]`. The marks that it returns have no meaning here.
    - `early_draw` (`False`): end a game as a draw as soon as every line has marks of both sides.
    - `symmetric` (`False`): show each agent one image of the board, see `TicTacToeEnv`. A player
      that waits sees it too; `state()` is the real board.
    - `max_cycles` (`None`): the number of moves of each player after which a game is truncated.
    - `render_mode` (`None`): `"ansi"` (text), `"rgb_array"`, or `"human"`, a window that shows
      every move and needs the extra `render`.

    ## Reset
    `reset(seed=, options={"board": "X.O/.X./..."})` starts a game from a board. The same seed gives
    the same games for the same actions. Other options are ignored with a warning, not refused,
    since PettingZoo's `api_test` passes one to every environment.

    ## Errors
    - `ValueError` for wrong arguments, boards and actions: bools, floats, text, cells off the
      board, None for a player that has to move, a cell for a player whose game is over.
    - `IllegalMoveError` (a `ValueError`) for a taken cell, with `illegal="raise"`.
    - `gymnasium.error.ResetNeeded` before the first reset, and for a step after the last agent
      has left.
    - `gymnasium.error.ClosedEnvironmentError` after `close`.

    Copies (`copy.deepcopy`, pickle) continue the game, with the same random numbers.

    ## Version history
    * v0: initial version
    """

    metadata: dict[str, Any] = {
        "render_modes": list(RENDER_MODES),
        "name": "tictactoe_env_v0",
        "is_parallelizable": False,  # a player must see the other's move
        "render_fps": 2,
    }

    def __init__(
        self, observation: str = "planes", max_cycles: int | None = None, **arguments: Any
    ):
        super().__init__()
        check_environment(arguments, TicTacToeAECEnv)
        self.max_cycles = None if max_cycles is None else whole_number(max_cycles, "max_cycles", 1)
        self.game = TicTacToeEnv(opponent=None, observation=observation, **arguments)
        self.rules = self.game.rules
        self.metadata = {**self.metadata, "name": _name(self.rules)}
        self.render_mode = self.game.render_mode
        self.agents: list[str] = []
        self.possible_agents = list(AGENTS)
        self.action_spaces = {agent: self.game.config.action_space() for agent in AGENTS}
        self.observation_spaces = {agent: self._space(self.game.config) for agent in AGENTS}
        self.state_space = observation_space(self.rules, "grid")
        self._seen: tuple[str, Any, Any] | None = None  # the mover, its observation and mask
        self._reward_table = self.game.config.reward_table.tolist()

    def _space(self, config: Config) -> gym.spaces.Dict:
        mask = gym.spaces.Box(0, 1, (int(config.action_space().n),), np.int8)
        board = observation_space(self.rules, config.observation, config.symmetric)
        return gym.spaces.Dict({"observation": board, "action_mask": mask})

    def observation_space(self, agent: str) -> gym.spaces.Dict:
        """The space of an agent's observations, always the same object."""
        return self.observation_spaces[one_of("agent", agent, AGENTS)]

    def action_space(self, agent: str) -> gym.spaces.Discrete:
        """The space of an agent's actions, always the same object."""
        return self.action_spaces[one_of("agent", agent, AGENTS)]

    # --- a game -----------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a game. Raises ValueError, changing nothing, for a wrong seed or board."""
        if isinstance(options, Mapping):
            for name in set(options) - set(BOARD_OPTIONS):
                gym.logger.warn(f"{unknown_name('reset option', name, BOARD_OPTIONS)}; ignored")
            options = {name: options[name] for name in BOARD_OPTIONS if name in options}
        seen, info = self.game.reset(seed=seed, options=options)
        self._moves = 0
        self.agents = list(AGENTS)
        self.agent_selection = AGENTS[0] if info["side"] > 0 else AGENTS[1]
        self._seen = (self.agent_selection, seen, info["action_mask"])
        self._skip_agent_selection: str | None = None
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self._report(self.agent_selection, Outcome.ONGOING)

    def step(self, action: Any) -> None:
        """Mark a cell for `agent_selection`. The action of an agent whose game is over is None."""
        self._started()
        if not self.agents:
            raise ResetNeeded("the game is over: call reset() to start the next one")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        seen, _, is_over, _, info = self.game.step(action)
        self._moves += 1
        result = Outcome.ONGOING
        if info["illegal_move"]:
            result = Outcome.ILLEGAL
        elif is_over:
            result = _ENDS[int(info["outcome"])]
        self._report(agent, result)
        self._accumulate_rewards()
        self.agent_selection = _OTHER[agent]
        self._seen = (_OTHER[agent], seen, info["action_mask"])

    def _report(self, agent: str, result: Outcome) -> None:
        """Set what both agents are told after a move of `agent`."""
        results = {agent: result, _OTHER[agent]: result.of_other_side}
        late = self.max_cycles is not None and self._moves >= 2 * self.max_cycles
        self.rewards = {name: self._reward_table[results[name]] for name in AGENTS}
        self.terminations = dict.fromkeys(AGENTS, result != Outcome.ONGOING)
        self.truncations = dict.fromkeys(AGENTS, result == Outcome.ONGOING and late)
        self.infos = {
            name: {
                "side": np.int8(_MARKS[name]),
                "outcome": OUTCOME_NUMBERS[results[name]],
                "illegal_move": np.int8(result == Outcome.ILLEGAL),
            }
            for name in AGENTS
        }

    def observe(self, agent: str) -> dict[str, Any]:
        """The observation of an agent, whether it is its turn or not: fresh arrays."""
        mover, seen, mask = self._started()
        seat = _MARKS[one_of("agent", agent, AGENTS)]
        if agent != mover:  # one that waits, or is stepped once more after the end of the game
            config = self.game.config
            board = config.seen(self.game.board)[None]
            seen = observe(board, self.rules, config.observation, np.array([seat]))[0]
        if agent != self.agent_selection:
            mask = np.ones_like(mask)
        return {"observation": seen.copy(), "action_mask": mask.copy()}

    def state(self) -> Any:
        """The board as X sees it: (rows, cols) int8, +1 X, -1 O, 0 free."""
        return self.board.reshape(self.rules.rows, self.rules.cols)

    @property
    def board(self) -> Boards:
        """The board (cells,) int8: +1 X, -1 O, 0 free."""
        return self.game.board

    def _started(self) -> tuple[str, Any, Any]:
        """Whose turn it is, and what it sees; ResetNeeded or ClosedEnvironmentError if nobody's."""
        if self._seen is None:
            _ = self.game.board  # raises
        return self._seen  # type: ignore[return-value]

    def render(self) -> Any:
        """The board as text ("ansi") or as uint8 (height, width, 3) ("rgb_array").

        The last move and a winning line are highlighted. In the mode "human" the window is drawn
        again and None is returned.
        """
        self._started()
        return self.game.render()

    def close(self) -> None:
        """Close the environment and its window; later calls raise ClosedEnvironmentError."""
        self._seen = None
        self.game.close()


class _InOrder(OrderEnforcingWrapper):  # type: ignore[misc,unused-ignore]
    """PettingZoo's check of loops over `agent_iter`, with the errors of `TicTacToeAECEnv`.

    PettingZoo's wrapper only prints a warning for a step after the end of a game.
    """

    def step(self, action: Any) -> None:
        self._has_updated = True
        self.env.step(action)

    def observe(self, agent: str) -> Any:
        return self.env.observe(agent)

    def state(self) -> Any:
        return self.env.state()

    def render(self) -> Any:
        return self.env.render()

    def __str__(self) -> str:
        return str(self.env)


raw_env = TicTacToeAECEnv


def env(**kwargs: Any) -> Any:
    """`TicTacToeAECEnv(**kwargs)` in PettingZoo's check of the order of calls.

    PettingZoo's wrappers for illegal moves and for cells off the board are left out, since the
    environment itself ends the game, with the rewards that it was given, or raises.
    """
    return _InOrder(raw_env(**kwargs))


if hasattr(pettingzoo, "register"):  # PettingZoo 1.27 and newer
    for _id in ENV_IDS:
        pettingzoo.register("aec", _id, entry_point=f"{__name__}:env", kwargs=gym.spec(_id).kwargs)
