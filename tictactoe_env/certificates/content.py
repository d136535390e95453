"""The contents of a certificate as typed values, and the one place that reads it from JSON.

    found = Certificate.from_json(content)      # CertificateError unless it has the form of one
    found.rules, found.stated.agent             # the board, and what nobody can verify
    found.results["X"].unbeatable               # what follows from the moves, by side
    found.to_json()                             # as it stands in the file

Whether the results follow from the moves is asked by `verify`, not here: see docs/certificates.md.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import Any, NamedTuple, get_args, get_type_hints

from tictactoe_env.certificates.stated import CertificateError, Stated, is_number
from tictactoe_env.exact.match import Result
from tictactoe_env.exact.optimality import OptimalShare
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.rules import SIDES, SIZES, Rules, other_side

TABLE, LINES, BYTES = 1, 2, 3
"""The formats: the moves in all positions; in those that can be met; in these, as a byte each."""


@dataclass(frozen=True)
class SideResults:
    """The exact results of a player as one side.

    unbeatable: whether it never loses, whatever the opponent does. always_wins: whether it wins
    every game. losing_line: the cells of the shortest game that it loses, None without one. A
    `Result` of a certificate does not state `illegal_other`.
    worst_case_value, worst_case_loss: win - loss, and the loss, against a best response.

    Of a certificate of all positions: optimal, whether it is unbeatable and no unbeatable player
    wins more often against random play; vs_minimax, against perfect play that picks at random
    among its best moves; limit_vs_random, the best achievable result against random play of a
    player that never loses, None if there is none.

    Of a certificate of a reach: positions, the number of unfinished positions that it can meet;
    decisions, of those in which it moves.

    In JSON a result is the shares "win", "draw", "loss" and "illegal" of all games.
    """

    unbeatable: bool
    losing_line: tuple[str, ...] | None
    worst_case_value: float
    worst_case_loss: float
    vs_random: Result
    always_wins: bool = False
    optimal: bool = False
    vs_minimax: Result | None = None
    limit_vs_random: Result | None = None
    positions: int = 0
    decisions: int = 0

    @property
    def proven(self) -> Proven:
        """The parts of the verdict on the side."""
        return Proven(self.unbeatable, self.optimal, self.always_wins, self.losing_line)


@dataclass(frozen=True)
class Certificate:
    """The moves of a player, and the exact results that follow from them.

    moves: in all positions, {board: cell or {cell: probability}}, or as compressed text in those
    that the player can meet. results: by side. canonical: of a certificate of a reach, whether
    symmetric positions count once; else None. optimal_moves: of a certificate of all positions.
    format: TABLE, LINES or BYTES.
    """

    rules: Rules
    moves: Mapping[str, Any] | str
    sha256_of_moves: str
    results: Mapping[str, SideResults]
    stated: Stated
    optimal_moves: OptimalShare | None = None
    canonical: bool | None = None
    format: int = TABLE

    @property
    def is_of_reach(self) -> bool:
        """True if it holds only the moves in positions that the player can meet."""
        return self.format != TABLE

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides whose results it holds."""
        return tuple(self.results)

    @property
    def trained(self) -> dict[str, SideResults]:
        """The results of the sides that the player was trained for, as is stated; or all."""
        return {side: self.results[side] for side in sides_of(self.stated.config, self.sides)}

    @property
    def only(self) -> str:
        """The side for which alone the player was trained or certified; "" for both."""
        if len(self.trained) > 1:
            return ""
        (side,) = self.trained
        return side

    def verdict(self, games: bool = True) -> str:
        """Say whether the player can be beaten, see `exact.verdict`.

        That it was trained as one side is only stated, so what is proven of the other side follows.
        """
        found = verdict({side: one.proven for side, one in self.trained.items()}, games)
        if not self.only:
            return found
        other = other_side(self.only)
        if other not in self.results:
            return f"{found}; nothing is proven as {other}"
        rest = verdict({other: self.results[other].proven}, games=False)
        return f"{found}; trained as {self.only} only, it {rest}"

    @property
    def is_proven(self) -> bool:
        """True if nobody beats the player as it was trained, or if it always wins as one side."""
        found = self.trained.values()
        return all(one.unbeatable for one in found) or any(one.always_wins for one in found)

    @property
    def claim(self) -> str:
        """The verdict with the board; it begins with "PROVEN" unless the player can be beaten."""
        if self.is_proven:
            return f"PROVEN on {self.rules}: {self.verdict()}"
        return f"on {self.rules} it {self.verdict()}"

    @property
    def unbeatable(self) -> bool | None:
        """False if the player can be beaten; None if it can't as one side, and holds no other."""
        if not all(found.unbeatable for found in self.results.values()):
            return False
        return True if len(self.results) == len(SIDES) else None

    @property
    def rank(self) -> tuple[int, float]:
        """The key that ranks players, as `Evaluation.rank`: unbeatable sides, then the value.

        A side that wins every game counts as two. The value is win - loss against random play, the
        sum over the sides.
        """
        found = self.results.values()
        safe = sum(one.unbeatable + one.always_wins for one in found)
        return safe, sum(one.vs_random.value for one in found)

    @property
    def optimal(self) -> bool:
        """True if the player is optimal on both sides."""
        return all(found.optimal for found in self.results.values())

    @property
    def decisions(self) -> int:
        """The number of positions whose move it holds."""
        if self.is_of_reach:
            return sum(found.decisions for found in self.results.values())
        return len(self.moves)

    @classmethod
    def from_json(cls, content: object) -> Certificate:
        """The certificate that a JSON value holds.

        Raises CertificateError, which names the entry, for one that is missing, unknown or not of
        its form, and for a whole that does not follow from the results of the sides.
        """
        left = {"training": {}, **_typed(dict, content, "this is no certificate: it")}

        def take(name: str, kind: Any = object, names: Sequence[str] = ()) -> Any:
            return _typed(kind, left.pop(name, _MISSING), name, names)

        def results(side: str) -> SideResults:
            found: SideResults = take(_entry(side), SideResults, form.of_side)
            # A certificate of all positions does not state whether every game is won.
            return found if is_of_reach else replace(found, always_wins=seems_to_win(found))

        number = _format(take("format"))
        form = _FORMS[number]
        is_of_reach = number != TABLE
        sides = tuple(take("sides", list)) if is_of_reach else SIDES
        if sides not in (SIDES, SIDES[:1], SIDES[1:]):
            raise CertificateError(f'sides must be one or both of ["X", "O"], got {sides!r:.50}')
        found = cls(
            take("board", Rules),
            take("moves", form.moves),
            take("sha256_of_moves", str),
            {side: results(side) for side in sides},
            Stated(**{one.name: take(one.name) for one in fields(Stated)}),
            **{name: take(name, kind) for name, kind in form.of_moves.items()},
            format=number,
        )
        if not is_of_reach and found.rules.cells > TABULATED:
            raise CertificateError(f"format 1 is for at most {TABULATED} cells, got {found.rules}")
        for name in form.wholes:
            whole = getattr(found, name)
            stated = take(name)
            if whole is not stated:
                raise CertificateError(
                    f"{name} is {whole} by the results of the sides, but {reprlib.repr(stated)} in "
                    "the certificate"
                )
        _check_known(left, "")
        return found

    def to_json(self) -> dict[str, Any]:
        """The certificate as a JSON value, in the order of the file."""
        form = _FORMS[self.format]
        stated = self.stated
        found: dict[str, Any] = {
            "format": self.format,
            "agent": stated.agent,
            "board": self.rules.to_json(),
        }
        if self.is_of_reach:
            found |= {"sides": list(self.sides), "canonical": self.canonical}
        found |= {name: getattr(self, name) for name in form.wholes}
        for side, one in self.results.items():
            found[_entry(side)] = {name: _plain(getattr(one, name)) for name in form.of_side}
        if self.optimal_moves is not None:
            found["optimal_moves"] = asdict(self.optimal_moves)
        found |= {"seed": stated.seed, "config": stated.config, "versions": stated.versions}
        found["moves"] = self.moves
        if stated.training:
            found["training"] = stated.training
        found["sha256_of_moves"] = self.sha256_of_moves
        return found


_RESULT_NAMES = ("win", "draw", "loss", "illegal")  # the other side makes no illegal moves


def sides_of(config: Mapping[str, Any], sides: tuple[str, ...] = SIDES) -> tuple[str, ...]:
    """The one of some sides that a configuration names, or all of them."""
    return (config["side"],) if config.get("side") in sides else sides


def _plain(value: Any) -> Any:
    """A part of the results of a side as a JSON value."""
    if isinstance(value, Result):
        return {name: getattr(value, name) for name in _RESULT_NAMES}
    return list(value) if isinstance(value, tuple) else value


def _entry(side: str) -> str:
    return f"as_{side.lower()}"


def seems_to_win(found: SideResults) -> bool:
    """True if a player wins every game, as far as its rates can tell.

    Against random play every reply can come, so what never happens then never happens at all.
    """
    return found.unbeatable and found.vs_random.draw == found.vs_random.loss == 0


class _Form(NamedTuple):
    """The entries of a format: the kind of its moves, and what stands beside the common entries.

    of_side: the results of a side. wholes: the results of all sides. of_moves: what else is said of
    the moves, with its kind.
    """

    moves: type
    of_side: Sequence[str]
    wholes: Sequence[str]
    of_moves: Mapping[str, Any]


_COMMON = ("losing_line", "worst_case_value", "worst_case_loss", "vs_random")
_FORMS = {
    TABLE: _Form(
        moves=dict,
        of_side=("unbeatable", "optimal", *_COMMON, "vs_minimax", "limit_vs_random"),
        wholes=("unbeatable", "optimal"),
        of_moves={"optimal_moves": OptimalShare},
    ),
    LINES: _Form(
        moves=str,
        of_side=("unbeatable", "always_wins", *_COMMON, "positions", "decisions"),
        wholes=("unbeatable",),
        of_moves={"canonical": bool},
    ),
}
_FORMS[BYTES] = _FORMS[LINES]


# --- from JSON ------------------------------------------------------------------------------------


class _Missing:
    """In place of an entry that is not there."""

    def __repr__(self) -> str:
        return "'nothing'"


_MISSING = _Missing()
_LINE = tuple[str, ...]
_KINDS: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    object: ("there", lambda value: value is not _MISSING),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number of at least 0", lambda value: type(value) is int and value >= 0),
    float: ("a finite number", is_number),
    str: ("text", lambda value: isinstance(value, str)),
    list: ("a list", lambda value: isinstance(value, list)),
    dict: ("an object", lambda value: isinstance(value, Mapping)),
    _LINE: ("a list of cells", lambda value: isinstance(value, list) and all(map(_is_cell, value))),
}
"""The kinds of values in JSON: in words, and whether a value is one."""


def _typed(kind: Any, value: Any, place: str, names: Sequence[str] = ()) -> Any:
    """A JSON value as one of KINDS, as a dataclass, or as None where the kind allows it.

    names: the entries of the object, if they are not those of `_entries`. Raises CertificateError,
    which names the place, for any other value.
    """
    if isinstance(kind, UnionType):
        if value is None:
            return None
        kind, _ = get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        entries = _typed(dict, value, place)
        kinds = get_type_hints(kind)
        names = names or _entries(kind, entries)
        parts = {n: _typed(kinds[n], entries.get(n, _MISSING), f"{place}.{n}") for n in names}
        _check_known(set(entries) - set(names), f"{place}.")
        try:
            return kind(**parts)
        except ValueError as error:  # of a board that there is not
            raise CertificateError(f"{place}: {error}") from None
    expected, is_right = _KINDS[kind]
    if not is_right(value):
        raise CertificateError(f"{place} must be {expected}, got {reprlib.repr(value)}")
    if kind == _LINE:
        return tuple(value)
    return float(value) if kind is float else value


def _entries(kind: Any, given: Collection[str]) -> Sequence[str]:
    """The entries of an object that stands for a dataclass: all fields, with two exceptions.

    Of a board the sizes, and the further fields that are given; of a result `_RESULT_NAMES`.
    """
    if kind is Result:
        return _RESULT_NAMES
    names = [one.name for one in fields(kind)]
    if kind is Rules:
        return [name for name in names if name in SIZES or name in given]
    return names


def _check_known(unknown: Collection[str], place: str) -> None:
    """Raises CertificateError if there are unknown entries."""
    if unknown:
        name = reprlib.repr(f"{place}{min(map(str, unknown))}")
        raise CertificateError(f"unknown entry in the certificate, not verifiable: {name}")


def _is_cell(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[a-z]{1,2}[0-9]{1,2}", value) is not None


def _format(number: Any) -> int:
    """The format of a certificate. Raises CertificateError unless it is known here."""
    if type(number) is int and number in _FORMS:
        return number
    error = f"format must be {TABLE}, {LINES} or {BYTES}, got {reprlib.repr(number)}"
    if type(number) is int and number > BYTES:
        error += "; a newer version may read it"
    raise CertificateError(error)
