"""The Gymnasium vector environment: many games at a time, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import DTypeLike, NDArray

from tictactoe_env.base_env import BaseEnv
from tictactoe_env.config import RESET_OPTIONS, Config, check_environment, picture_of
from tictactoe_env.engines import BatchEngine, GameStates, batch_engine
from tictactoe_env.errors import checked_seed, one_of, whole_number
from tictactoe_env.observation import last_move, observation_space
from tictactoe_env.policy import Policy
from tictactoe_env.pool import Pool
from tictactoe_env.rules import ILLEGAL, ONGOING, OUTCOME_NUMBERS, Boards, mark_of

# The arrays (num_envs,) of a state; the first four are attributes of the environment.
_OWN = {"over": np.bool_, "which": np.int64, "begun": np.int64, "steps": np.int64}
_OF_EACH_GAME = {**_OWN, "seats": np.int8, "results": np.int8}
# The keys of an info that say which of its rows are valid.
_VALID = ("_action_mask", "_side", "_outcome", "_illegal_move")


class TicTacToeVectorEnv(BaseEnv, VectorEnv[NDArray[Any], NDArray[np.intp], NDArray[Any]]):
    """`num_envs` games at a time, with the arguments, rewards and results of `TicTacToeEnv`.

    Observations have the shape of `TicTacToeEnv`'s with `num_envs` in front. Rewards are float64
    `(num_envs,)`, `terminated` and `truncated` bool `(num_envs,)`. All arrays are fresh. One
    generator serves all games: `reset(seed=)` takes a number, or a list with one for each game,
    which together seed it. With `side="alternate"` the learner is X in the first game of each even
    row and O in that of each odd row, then the sides alternate row by row. There has to be an
    opponent: `opponent=None` is for single games.

    ## Autoreset
    `autoreset_mode` is an `AutoresetMode` or its name. When game i ends:

    - `SAME_STEP` (default): row i of the observation, mask and side already belongs to a new game.
      Row i of `infos["final_obs"]` is the last observation of the finished game, and
      `infos["final_info"]` holds its `action_mask`, `side`, `outcome` and `illegal_move`.
    - `NEXT_STEP`: the next step ignores action i, starts a new game and gives the reward 0.
    - `DISABLED`: the caller starts the next game by `reset(options={"reset_mask": mask})`, mask
      bool `(num_envs,)`. A step before that raises `ResetNeeded`.

    In SAME_STEP the last boards, with the winning moves, are in `final_obs` only. Of Gymnasium's
    vector wrappers those that change observations refuse this mode, and `RecordVideo` leaves the
    last frame of each game out of its videos. `make_vec(..., autoreset_mode="NEXT_STEP")` serves
    all of them. Gymnasium's own `vectorization_mode="sync"` and `"async"` are in NEXT_STEP.

    ## Info
    The keys of `TicTacToeEnv` at every reset and step, as int8 arrays with one row for each game:
    `action_mask` `(num_envs, cells)`, `side`, `outcome` and `illegal_move` `(num_envs,)`. In
    SAME_STEP they belong to the new games, and `final_info` holds the same of the finished games.
    In every mode the mask of a game that is over is 1 everywhere; of a truncated one it's 1 on the
    legal actions.
    For each key `k` the key `_k` holds which rows are valid, bool `(num_envs,)`. `final_obs` is one
    array `(num_envs, ...)` with zeros in the rows of unfinished games.

    ## Arguments of its own
    - `autoreset_mode` (`"SAME_STEP"`): see Autoreset.
    - `max_episode_steps` (`None`): a game in which the learner has made this many moves without an
      end is truncated, as Gymnasium's `TimeLimit` does for a single environment.

    ## One game of many
    `call(name, *args)`, `get_attr(name)` and `set_attr(name, values)` work as in Gymnasium's
    `SyncVectorEnv`. They return a tuple with one entry for each game; what the games share, such as
    an opponent, is called or set once.

    ## Saving running games
    `state_dict()` returns the state of all games; `load_state_dict(state)` continues them bit for
    bit.
    """

    metadata = {
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        opponent: Any = "random",
        side: str = "random",
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ):
        super().__init__()
        self.num_envs = whole_number(num_envs, "num_envs", 1)
        check_environment(arguments, TicTacToeVectorEnv)
        if render_mode is not None:
            one_of("render mode of many games", render_mode, self.metadata["render_modes"])
        self.config = config = Config.of(side=side, render_mode=render_mode, **arguments)
        self.rules = config.rules
        self.render_mode = render_mode
        if not isinstance(autoreset_mode, AutoresetMode):
            known = {text: mode for mode in AutoresetMode for text in (mode.name, mode.value)}
            autoreset_mode = known[one_of("autoreset mode", autoreset_mode, known)]
        self.autoreset_mode = autoreset_mode
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(
            self.rules, config.observation, config.symmetric
        )
        self.single_action_space = config.action_space()
        self._actions = int(config.action_space().n)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._games: BatchEngine[Any, Any] = batch_engine(
            self.rules,
            config.early_draw,
            config.observation,
            config.symmetric,
            config.by_column,
        )
        self._starts = self._starts_from(config.start_board)
        self._states: GameStates | None = None
        self._which = np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._begun = np.zeros(self.num_envs, dtype=np.int64)
        self._every = np.ones(self.num_envs, dtype=bool)
        self._limit = max_episode_steps
        if max_episode_steps is not None:
            self._limit = whole_number(max_episode_steps, "max_episode_steps", 1)
        self._steps = np.zeros(self.num_envs, dtype=np.int64)  # of each game, if there is a limit
        self._extra: list[Policy] = []  # opponents of reset options, after those of the pool
        self.set_opponent(opponent)

    def _use(self, pool: Pool, indices: NDArray[np.intp] | None = None) -> None:
        if indices is None:
            self._which = pool.draw(self.np_random, self.num_envs)
            self._extra = []
        else:
            extra = np.arange(len(self._extra)) + len(pool.policies)
            self._which = np.concatenate([indices, extra])[self._which]
        self._pool = pool
        self._replies: Any = self._games.prepare([*pool.policies, *self._extra])

    # --- reset ------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start all games, or those of `options["reset_mask"]`.

        The options `side`, `opponent` and `board` apply to the games that this call starts. A seed,
        or a list of num_envs seeds, reseeds the one generator, which also serves the games outside
        `reset_mask`.
        Raises ValueError, changing nothing, for a wrong seed or wrong options.
        """
        self._check_open()
        seed = self._one_seed(seed)
        given = self.config.options(options, (*RESET_OPTIONS, "reset_mask"))
        mask = self._reset_mask(given.get("reset_mask"))
        pool = self._checked_pool(given.get("opponent", self._pool), given)
        first = self._prepare_opponents(mask, pool)
        super().reset(seed=seed)
        if mask.all() and seed is not None:
            self._begun[:] = 0
        if self._states is None:
            self._states = self._starts.take(np.zeros(self.num_envs, dtype=np.intp), axis=-1)
            self._before = self._states.copy()
        self._begin(np.flatnonzero(mask), given, pool, first)
        return self._games.observe(self._states), self._info()

    def _prepare_opponents(self, mask: NDArray[np.bool_], pool: Pool) -> int:
        """Prepare the opponents of the games in `mask`: the index of the first one.

        Those of a reset option follow the opponents of the environment. Earlier ones are kept only
        if a game outside `mask` still plays against them.
        """
        own = len(self._pool.policies)
        which = np.where(mask, 0, self._which)
        kept = np.union1d(np.arange(own), which)
        extra = [self._extra[number - own] for number in kept[own:]]
        if pool is not self._pool:
            extra += pool.policies
        if extra or self._extra:
            self._replies = self._games.prepare([*self._pool.policies, *extra])
        self._which = np.searchsorted(kept, which)
        self._extra = extra
        return 0 if pool is self._pool else len(kept)

    def _reset_mask(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.num_envs, dtype=bool)
        is_mask = isinstance(mask, np.ndarray) and mask.dtype == np.bool_
        if not is_mask or mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"reset_mask must be bool ({self.num_envs},), not all False: {mask!r}")
        if self._states is None and not mask.all():
            raise ValueError("the first reset must start all games: leave reset_mask out")
        return mask.copy()

    def _begin(
        self, games: NDArray[np.intp], given: Mapping[str, Any], pool: Pool, first_opponent: int = 0
    ) -> None:
        """Start the games with these indices; where the opponent moves first, it moves."""
        rng = self.np_random
        count = len(games)
        side = given.get("side", self.config.side)
        current = self._started()
        self._states = None  # a start that is refused leaves no games
        if side == "random":
            # The numbers of rng.integers(2, size=count), in a fifth of the time.
            plays_o: NDArray[Any] = rng.random(count, dtype=np.float32) >= 0.5
        elif side == "alternate":
            plays_o = (games + self._begun[games]) % 2
        else:
            plays_o = np.full(count, mark_of(side) < 0, dtype=np.intp)
        which = pool.draw(rng, count) + first_opponent
        same_board = "board" in given or self.config.start == "empty"
        if same_board:
            starts = self._starts_from(given["board"]) if "board" in given else self._starts
            states = starts.take(plays_o, axis=-1)
        else:
            seats = (1 - 2 * plays_o).astype(np.int8)
            drawn = self.config.drawn_boards(seats, rng, self.counterexamples, side == "random")
            states = self._games.start(*drawn)
        settled, result = self._games.begin(states, self._replies, which, rng, same_board)
        if np.count_nonzero(result):  # not ONGOING
            raise ValueError("the opponent's first move ended a game: change sides")
        current[..., games] = settled
        self._which[games] = which
        self._over[games] = False
        self._begun[games] += 1
        if self._limit is not None:
            self._steps[games] = 0
        if self.render_mode is not None:
            self._before[..., games] = states
        self._states = current

    def _starts_from(self, board: Boards) -> GameStates:
        """The states (2,) of this board (cells,) for learners that play X and O."""
        return self._games.start(np.stack([board, board]), np.array([1, -1], dtype=np.int8))

    # --- step -------------------------------------------------------------------------------------

    def step(
        self, actions: Any
    ) -> tuple[
        NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Mark a cell in each game and let the opponents reply.

        actions: whole numbers (num_envs,). Returns observations, rewards, terminated, truncated
        (False without `max_episode_steps`) and infos.
        """
        before = self._started()
        cells = self._cells(actions)
        mode = self.autoreset_mode
        games = self._games
        waiting = None if mode is AutoresetMode.SAME_STEP else self._over.nonzero()[0]
        if waiting is not None and len(waiting) and mode is AutoresetMode.DISABLED:
            raise ResetNeeded(f"the games {waiting.tolist()} are over: reset them by reset_mask")
        if self.config.illegal == "raise":
            self._refuse_illegal(cells)
        after, result = games.advance(
            before, cells, self._replies, self._which, self.np_random, waiting
        )
        if waiting is not None:
            result[waiting] = ONGOING
        ended = result != ONGOING
        rewards = self.config.reward_table.take(result)
        self._before = before
        self._states = after
        truncated = self._truncated(ended)
        if waiting is None:
            return self._same_step(result, rewards, ended, truncated)
        self._over = ended | truncated
        if len(waiting):  # in NEXT_STEP
            self._begin(waiting, {}, self._pool)
        return games.observe(self._states), rewards, ended, truncated, self._info()

    def _truncated(self, ended: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """True where a game that goes on has reached `max_episode_steps`: (num_envs,) bool."""
        if self._limit is None:
            return np.zeros(self.num_envs, dtype=bool)
        self._steps += 1
        truncated: NDArray[np.bool_] = (self._steps >= self._limit) & ~ended & ~self._over
        return truncated

    def _same_step(self, result: Any, rewards: Any, ended: Any, truncated: Any) -> Any:
        """Start the next games where one ended; add its last observation and info."""
        games = self._games
        states = self._started()
        finished = ended | truncated
        over = finished.nonzero()[0]
        if len(over) == 0:
            return games.observe(states), rewards, ended, truncated, self._info()
        last = states.take(over, axis=-1)
        self._begin(over, {}, self._pool)
        # One call for the new games and the finished ones; these come last.
        both = np.concatenate([states, last], axis=-1)
        count = self.num_envs
        observations = games.observe(both)
        masks = games.legal(both)
        seats = games.seats(both)
        final_obs = np.zeros((count, *observations.shape[1:]), observations.dtype)
        final_masks = masks[:count].copy()
        final_seats = seats[:count].copy()
        _set_rows(final_obs, over, observations[count:])
        _set_rows(final_masks, over, masks[count:])
        final_seats[over] = seats[count:]
        ongoing = np.zeros(count, dtype=np.int8)
        infos = _infos(masks[:count], seats[:count], ongoing, self._every.copy())
        infos.update(
            final_obs=final_obs,
            _final_obs=finished,
            final_info=_infos(final_masks, final_seats, result, finished),
            _final_info=finished,
        )
        return observations[:count], rewards, ended, truncated, infos

    def _info(self) -> dict[str, Any]:
        games = self._games
        states = self._states
        every = self._every.copy()
        return _infos(games.legal(states), games.seats(states), games.result(states), every)

    def _one_seed(self, seed: Any) -> int | None:
        """One seed from a list of one for each game, or the seed itself."""
        if not isinstance(seed, (list, tuple)):
            return checked_seed(seed)
        seeds = [checked_seed(one) for one in seed]
        numbers = [one for one in seeds if one is not None]
        if len(seeds) != self.num_envs or 0 < len(numbers) < len(seeds):
            raise ValueError(f"a list of seeds must have one for each game, or None, got {seed!r}")
        if not numbers:
            return None
        words = np.random.SeedSequence(numbers).generate_state(4)
        return int.from_bytes(words.tobytes(), "little")

    def _cells(self, actions: Any) -> NDArray[np.intp]:
        cells = np.asarray(actions)
        is_whole = cells.dtype.kind in "iu" and not hasattr(actions, "mask")
        if not is_whole or cells.shape != (self.num_envs,):
            kind = type(actions).__name__
            raise ValueError(
                f"actions must be whole numbers, one for each of {self.num_envs} games, got "
                f"{kind} of {cells.dtype} {cells.shape}"
            )
        indices = cells.astype(np.intp, copy=False)
        if indices.view(np.uintp).max() >= self._actions:  # negative ones are large numbers here
            game = int(np.flatnonzero((cells < 0) | (cells >= self._actions))[0])
            raise ValueError(f"actions must be below {self._actions}, got {cells[game]} ({game=})")
        return indices

    def _refuse_illegal(self, cells: NDArray[np.intp]) -> None:
        legal = self._games.legal(self._states)[np.arange(self.num_envs), cells]
        wrong = np.flatnonzero((legal == 0) & ~self._over)
        if len(wrong):
            board = self._games.boards(self._started().take(wrong[:1], axis=-1))[0]
            self.config.check_action(board, int(cells[wrong[0]]))

    # --- state ------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state from which `load_state_dict` continues these games bit for bit.

        Fresh arrays with one row for each game: `boards` int8 (num_envs, cells), `seats` int8 (the
        learner's marks, +1 X, -1 O), `results` int8 (0 unfinished, else how the game ended:
        constants of `rules`), `over` bool (whether it waits for its reset), `which` int64 (the
        index of the opponent), `begun` int64 (games begun so far) and `steps` int64 (of the current
        games, counted with `max_episode_steps`). `counterexamples` are the boards of the last
        proofs, and `generator` is the state of the random generator, as JSON values. Opponents are
        not part of it. Raises ResetNeeded before the first reset.
        """
        states = self._started()
        games = self._games
        return {
            "boards": games.boards(states),
            "seats": games.seats(states),
            "results": games.result(states),
            **{name: getattr(self, f"_{name}").astype(dtype) for name, dtype in _OWN.items()},
            "counterexamples": [boards.copy() for boards in self._counterexamples],
            "generator": dict(self.np_random.bit_generator.state),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Continue the games of `state_dict`: their observations and info, as `reset` gives them.

        The environment must have the arguments and opponents of the saved one; if these were set by
        `set_opponent`, call it first. The next `render` highlights no last move.
        Raises ValueError, changing nothing, for an array of another shape or dtype, and for an
        opponent that is not in the pool.
        """
        self._check_open()
        shape = (self.num_envs,)
        boards = _array_of(state, "boards", np.int8, (*shape, self.rules.cells))
        found = {
            name: _array_of(state, name, dtype, shape) for name, dtype in _OF_EACH_GAME.items()
        }
        opponents = len(self._pool.policies) + len(self._extra)
        unknown = np.setdiff1d(found["which"], range(opponents))
        if len(unknown):
            raise ValueError(f"which must be below {opponents}, the opponents, got {unknown[0]}")
        counterexamples = [np.array(one) for one in state["counterexamples"]]
        states = self._games.start(boards, found["seats"], found["results"])
        self.np_random.bit_generator.state = state["generator"]
        self._states = states
        self._before = states.copy()
        for name in _OWN:
            setattr(self, f"_{name}", found[name])
        self._counterexamples = counterexamples
        return self._games.observe(states), self._info()

    # --- views ------------------------------------------------------------------------------------

    def action_masks(self) -> NDArray[np.bool_]:
        """The masks of `infos["action_mask"]` as bool: (num_envs, cells), or (num_envs, cols)."""
        return self._games.legal(self._started()).astype(bool)

    @property
    def boards(self) -> Boards:
        """The boards (num_envs, cells) int8: +1 X, -1 O, 0 free."""
        return self._games.boards(self._started())

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The results of the method or attribute `name` for each game: a tuple (num_envs,).

        The masks, boards and pictures of the games are their own: `action_masks`, `board`,
        `render`. Any other method is called once, and its result repeated. Raises AttributeError if
        there is no such name.
        """
        found = getattr(self, "boards" if name == "board" else name)
        if callable(found):
            found = found(*args, **kwargs)
        if name in ("action_masks", "board") or (name == "render" and found is not None):
            return tuple(found)
        return (found,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """The attribute `name` for each game: see `call`."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute that the games share.

        values: the value, or a list or tuple with as many equal ones as there are games. Raises
        ValueError if they differ, and AttributeError for a name that these games do not have.
        """
        if isinstance(values, (list, tuple)):
            if len(values) != self.num_envs or any(value != values[0] for value in values):
                raise ValueError(f"the games share {name}: give one value, got {values!r}")
            values = values[0]
        getattr(self, name)
        setattr(self, name, values)

    def _started(self) -> GameStates:
        self._check_open()
        if self._states is None:
            raise ResetNeeded("there are no games before reset: call reset() to start them")
        return self._states

    def render(self) -> tuple[Any, ...] | None:
        """One picture for each game: text ("ansi") or uint8 (height, width, 3) ("rgb_array")."""
        if (draw := picture_of(self.render_mode)) is None:
            return None
        games = self._games
        states = self._started()
        rows = zip(games.boards(self._before), self.boards, games.seats(states), strict=True)
        return tuple(
            draw(board, self.rules, last=last_move(before, board, int(seat)))
            for before, board, seat in rows
        )


def _array_of(
    state: Mapping[str, Any], name: str, dtype: DTypeLike, shape: tuple[int, ...]
) -> NDArray[Any]:
    """A copy of an array of a state. Raises ValueError if its shape or its dtype is another."""
    found = np.array(state.get(name))
    expected = np.dtype(dtype)
    if found.shape != shape or found.dtype != expected:
        raise ValueError(f"{name} must be {expected} {shape}, got {found.dtype} {found.shape}")
    return found


def _infos(masks: Any, seats: Any, results: Any, rows: NDArray[np.bool_]) -> dict[str, Any]:
    """The keys of a single environment's info, with `rows` (B,) as their valid rows."""
    outcome = OUTCOME_NUMBERS.take(results)
    illegal = (results >= ILLEGAL).view(np.int8)
    infos = {"action_mask": masks, "side": seats, "outcome": outcome, "illegal_move": illegal}
    return infos | dict.fromkeys(_VALID, rows)


@lru_cache(maxsize=8)
def _item(size: int) -> np.dtype[np.void]:
    return np.dtype((np.void, size))


def _set_rows(array: NDArray[Any], games: NDArray[np.intp], rows: NDArray[Any]) -> None:
    """array[games] = rows, for contiguous arrays: a row as one item takes a quarter of the time."""
    row = _item(array.nbytes // len(array))
    items = np.ndarray((len(array),), row, array)
    items[games] = np.ndarray((len(rows),), row, rows)
