"""Policies: probabilities of moves on given boards. On small boards a policy can be a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tictactoe_env.actions import (
    SUM_TOLERANCE,
    checked_actions,
    checked_probs,
    legal_actions,
    on_cells,
)
from tictactoe_env.errors import one_of
from tictactoe_env.observation import OBSERVATIONS, observe
from tictactoe_env.rules import Boards, Rules, check_unfinished, checked_rules
from tictactoe_env.symmetry import on_images

Probs = NDArray[np.float64]
_Kind = TypeVar("_Kind")
Numbers = NDArray[np.intp]  # (B,): cells, or indices of games or of opponents
_MAX_WEIGHT = 1e100  # of one policy in a mixture, so that the sum of weights is finite


@runtime_checkable
class Policy(Protocol):
    """Any object with a method `probs`, which gives the probabilities of its moves.

    There is no mask argument, since the mask follows from the board. There is no random generator
    either: the caller samples. Probability on a taken cell is kept; exact and sampled results count
    it as a loss by illegal move. So they count a row of zeros, which means that the policy makes no
    move; tables and environments refuse such a row.

    Exact results ask a policy for each board that it can meet. If it has no attribute
    `varies = ""`, which says that it is a function of the board, it is asked again: see
    `exact.provable`. Any other text there says why its moves may be others the next time, and
    nothing is proven of it. A class says it of its own methods only: see `stated`.
    """

    def probs(self, boards: Boards, /) -> NDArray[np.floating[Any]]:
        """Probabilities (B, cells), rows sum to 1, on unfinished boards (B, cells) int8.

        Boards are +1 where X is, -1 where O is, 0 where a cell is free.
        """
        ...


class Model(Protocol):
    """Any object with the `predict` of Stable-Baselines3, such as a model of it; no recurrent ones.

    Every function that takes a `Policy` takes a model too: see `as_policy`.
    """

    def predict(self, observation: Any, /, *, deterministic: bool) -> tuple[Any, Any]:
        """A cell for each observation (B, ...), and the state, which must be None."""
        ...


@dataclass(frozen=True)
class RandomPolicy:
    """Every legal move is equally likely.

    Without `rules` it plays on any board on which every free cell is legal; `as_policy` gives it
    the rules of a board.
    """

    rules: Rules | None = None

    varies = ""  # a function of the board, see `exact.provable`
    plays_symmetrically = True

    def probs(self, boards: Boards) -> Probs:
        """1 / (number of legal moves) on the legal cells: (B, cells)."""
        boards = np.asarray(boards)
        legal = boards == 0 if self.rules is None else self.rules.legal_cells(boards)
        return legal / legal.sum(axis=1, keepdims=True)


class FunctionPolicy:
    """The policy of any function of observations, such as a network of any library.

        FunctionPolicy(lambda observations, masks: network(torch.as_tensor(observations)), Rules())

    function: called as `function(observations, masks)` with the observations (B, ...) of the side
    to move, in the form `observation` ("flat", "planes" or "grid"), and with masks bool (B, cells),
    True on legal cells. It returns probabilities (B, cells), whose rows sum to 1, or cells (B,) of
    whole numbers; a NumPy array, or a tensor that `numpy.asarray` takes after `detach().cpu()`.
    Its moves must depend on the observation alone: proofs ask it again, and refuse one that draws
    its moves. Take the best ones, or return probabilities.
    symmetric: whether the function learned with symmetric=True. It then gets the observations and
    masks of one image of each board, and its moves are turned back.
    actions: "columns", on boards on which pieces fall, if masks, probabilities and moves are those
    of columns.
    varies: "" if you know that the moves depend on the observation alone. Then it is believed, and
    each board is asked for once, which is for functions that take their time.
    Raises ValueError for a result of another form.
    """

    def __init__(
        self,
        function: Callable[[NDArray[Any], NDArray[np.bool_]], Any],
        rules: Rules,
        observation: str = "flat",
        symmetric: bool = False,
        actions: str = "cells",
        varies: str | None = None,
    ):
        if not callable(function):
            raise ValueError(f"a FunctionPolicy needs a function, got {function!r}")
        one_of("observation", observation, OBSERVATIONS)
        self.function = function
        self.rules = checked_rules(rules)
        self.observation = observation
        self.symmetric = symmetric
        self.actions = checked_actions(actions, self.rules)
        self._varies = varies

    @property
    def varies(self) -> str | None:
        """The argument. It is said of `function`: a class with `probs` of its own says nothing."""
        return self._varies

    @property
    def _learned_on_images(self) -> bool:
        """True if the function learned with symmetric=True, see `as_policy`."""
        return self.symmetric

    def probs(self, boards: Boards) -> Probs:
        """Probabilities (B, cells) of unfinished boards (B, cells)."""
        boards = np.asarray(boards, dtype=np.int8)
        if self.symmetric:
            return on_images(self._probs, boards, self.rules)
        return self._probs(boards)

    def _probs(self, boards: Boards) -> Probs:
        """The probabilities on boards that are seen as they are."""
        seen = observe(boards, self.rules, self.observation)
        result = self.function(seen, legal_actions(boards, self.rules, self.actions))
        if hasattr(result, "detach"):  # a tensor of torch
            result = result.detach().cpu()
        return on_cells(np.asarray(result), boards, self.rules, self.actions)


class GreedyPolicy:
    """The most probable move of `policy`; among equals the lowest cell."""

    def __init__(self, policy: Policy):
        self.policy = policy

    def probs(self, boards: Boards) -> Probs:
        """1 on one cell: (B, cells)."""
        chosen = self.policy.probs(boards)
        return one_hot(chosen.argmax(axis=1), chosen.shape[1])


def one_hot(cells: NDArray[np.intp], count: int) -> Probs:
    """1 on the given cell of each row: (B, count)."""
    return np.eye(count)[cells]


def of_each_board(
    find: Callable[[Boards], Mapping[int, float]], boards: Boards, rules: Rules, other: float = 0.0
) -> Probs:
    """The numbers of moves {cell: number} that a function finds on each of the boards: (B, cells).

    other: the number of all other cells. Raises ValueError for a finished board.
    """
    boards = check_unfinished(boards, rules)
    found = np.full((len(boards), rules.cells), other)
    for row, board in zip(found, boards, strict=True):
        for cell, number in find(board).items():
            row[cell] = number
    return found


def equally_likely(cells: Collection[int]) -> dict[int, float]:
    """The probabilities of moves of which each is as likely."""
    return dict.fromkeys(cells, 1 / len(cells))


class CanonicalPolicy:
    """A policy that sees every board in canonical form, so it plays alike on symmetric boards.

    `policy` is asked about canonical boards only, in each call about each of them once; its moves
    are turned back to the board as it is. Proofs are smaller by a factor of up to eight for such a
    policy, since positions that are equal under symmetry count once: see `exact.proof`. It is the
    policy of a player that learned with symmetric=True.
    """

    plays_symmetrically = True

    def __init__(self, policy: Any, rules: Rules):
        self.rules = checked_rules(rules)
        self.policy: Policy = _policy_of(policy, rules, deterministic=True)

    @property
    def varies(self) -> str | None:
        """What the policy states as `varies`, see `exact.provable`."""
        return stated(self.policy, "varies")

    def probs(self, boards: Boards) -> Probs:
        """Probabilities (B, cells) on unfinished boards (B, cells)."""
        return on_images(self.policy.probs, np.asarray(boards, dtype=np.int8), self.rules)


def plays_symmetrically(policy: Any) -> bool:
    """True if a policy plays alike on symmetric boards by the way in which it is made.

    It states so by an attribute of this name, as a CanonicalPolicy and random play do. A subclass
    with its own `probs` does not count, nor does a wrapper: they may play otherwise, and proofs
    rely on it.
    """
    return stated(policy, "plays_symmetrically") is True


def keeps(policy: Any, kind: type[_Kind]) -> TypeGuard[_Kind]:
    """True if a policy is of the class `kind`, and none of its methods is overridden.

    Neither by a subclass nor on the object. Only then does what is known about the class, such as
    where its moves can be looked up, hold for the object.
    """
    classes = type(policy).__mro__
    if kind not in classes:
        return False
    nearer = [getattr(policy, "__dict__", {}), *map(vars, classes[: classes.index(kind)])]
    found: Any = kind  # a type[_Kind] is no Hashable to mypy
    own = _methods(found)
    return all(space.keys().isdisjoint(own) for space in nearer)


@lru_cache(maxsize=256)
def _methods(kind: type) -> frozenset[str]:
    """The names of the methods and properties by which a class may answer."""
    found = {"probs", "__call__", "__getattribute__"}
    for one in kind.__mro__[:-1]:  # without `object`
        for name, value in vars(one).items():
            is_method = callable(value) or isinstance(value, (property, classmethod, staticmethod))
            if is_method and not name.startswith("__"):
                found.add(name)
    # Not what `stated` reads: a subclass that states something else still keeps the methods.
    return frozenset(found - {"varies", "plays_symmetrically"})


def stated(policy: Any, name: str) -> Any:
    """The attribute `name` by which a policy describes its `probs`, such as `varies`; else None.

    The class that defines it, or whose `__init__` made it, vouches for its own methods only: if one
    of these is overridden (see `keeps`), the answer is None. What is set on an object of a class
    without `__init__` always counts.
    """
    classes = type(policy).__mro__
    own = getattr(policy, "__dict__", {})
    if name in own:
        maker = next(one for one in classes if "__init__" in vars(one))
        return own[name] if maker is object or keeps(policy, maker) else None
    owner = next((one for one in classes if name in vars(one)), None)
    return getattr(policy, name) if owner and keeps(policy, owner) else None


def as_policy(
    player: Any, rules: Rules, deterministic: bool = True, symmetric: bool | None = None
) -> Policy:
    """`player` itself if it has `probs`, a PredictPolicy if it has `predict`, else ValueError.

    A RandomPolicy without rules gets these. deterministic: see `PredictPolicy`. symmetric: whether
    the player learned with symmetric=True. It is then asked about one image of each board, and its
    moves are turned back, as a CanonicalPolicy does. By default this is so for a model whose
    observation space says it, and for a FunctionPolicy that was made so; False is refused for them.
    """
    policy = _policy_of(player, rules, deterministic)
    learned_so = stated(policy, "_learned_on_images") is True
    if learned_so and symmetric is False:
        raise ValueError("this player learned with symmetric=True, and plays so only: leave it out")
    if (learned_so or symmetric) and not plays_symmetrically(policy):
        return CanonicalPolicy(policy, rules)
    return policy


def _policy_of(player: Any, rules: Rules, deterministic: bool) -> Policy:
    """The policy of a player, before boards are turned for `symmetric`."""
    if keeps(player, RandomPolicy) and player.rules is None:
        return RandomPolicy(rules)
    own_rules = getattr(player, "rules", None)
    if isinstance(own_rules, Rules) and own_rules != rules:
        raise ValueError(f"this player plays on {own_rules}, not on {rules}")
    if not isinstance(player, type):
        if callable(getattr(player, "probs", None)):
            return player
        if callable(getattr(player, "predict", None)):
            # Imported here because most players are no models.
            from tictactoe_env.predict_policy import PredictPolicy

            return PredictPolicy(player, rules, deterministic)
    got = f"{player!r} of type {type(player).__name__}"
    raise ValueError(
        f"a player must have probs(boards) or predict(observation), got {got}; "
        "make_opponent(name, rules) makes one from a name, FunctionPolicy(function, rules) from a "
        "function"
    )


def possible_cells(possible: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The cells (B, M) that are possible in each row of (B, cells), ascending, then others.

    M: the largest number of possible cells in a row, at least 1.
    """
    width = int(possible.sum(axis=1).max(initial=0))
    if width <= 1:
        return possible.argmax(axis=1)[:, None]
    return np.argsort(~possible, axis=1, kind="stable")[:, :width]


def sample(probs: NDArray[np.floating[Any]], rng: np.random.Generator) -> NDArray[np.intp]:
    """One cell (B,) drawn from each row of probabilities (B, cells); of zeros it is `cells`."""
    return draw(_cumulated(probs), rng.random(len(probs)))


def draw(ends: Probs, uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """The first cells (B,) whose cumulated probabilities (cells, B) exceed numbers (B,) in [0, 1).

    The numbers are scaled by the last sum of each column, which rounding may leave off 1. One
    column (cells, 1) serves all B numbers. Where all is zero it is the cell after the last.
    """
    return (ends <= uniforms * ends[-1]).sum(axis=0)


def checked_ends(probs: Any, shape: tuple[int, int]) -> Probs:
    """The cumulated probabilities (cells, B) of what a policy's `probs` returned: (B, cells).

    The rows are checked as `checked_probs` does, in less time: it takes 2 % of what a small network
    needs. Raises ValueError if they are not probabilities.
    """
    array = np.asarray(probs)
    if array.shape == shape and array.dtype.kind == "f":
        ends = _cumulated(array)
        if array.min() >= 0 and (np.abs(ends[-1] - 1) <= SUM_TOLERANCE).all():  # no NaN either
            return ends
    return _cumulated(checked_probs(probs, shape))


def _cumulated(probs: NDArray[np.floating[Any]]) -> Probs:
    """The sums of the probabilities (B, cells) up to each cell: (cells, B).

    Adding row after row gives the numbers of `cumsum(axis=0)` in a third of its time, if B > 1.
    """
    if len(probs) == 1:
        return probs.cumsum(axis=1, dtype=np.float64).T
    ends = probs.T.astype(np.float64, order="C")
    for before, after in pairwise(ends):
        after += before
    return ends


class Uniforms(list[float]):
    """Uniform random numbers in [0, 1), drawn from a generator 256 at a time.

    `pop` takes a fifth of the time of `rng.random()`; it raises IndexError on an empty list.
    """

    def __init__(self, rng: np.random.Generator):
        super().__init__()
        self.rng = rng

    def draw(self) -> float:
        """The next number."""
        if not self:
            self.extend(self.rng.random(256).tolist())
        return self.pop()


def checked_weights(weights: Sequence[float]) -> list[float]:
    """Weights scaled to sum to 1; ValueError if they are not finite, negative, or all zero."""
    try:
        numbers = [float(weight) for weight in weights]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if not sum(numbers) or not all(0 <= number < _MAX_WEIGHT for number in numbers):
        given = list(weights)
        raise ValueError(f"weights must be finite, not negative and not all zero, got {given}")
    return [number / sum(numbers) for number in numbers]
