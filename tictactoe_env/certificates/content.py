"""What a certificate says, as typed values, and the one place that reads it from JSON.

    found = Certificate.from_json(content)      # CertificateError unless it has the form of one
    found.rules, found.stated.agent             # the board, and what nobody can verify
    found.results["X"].unbeatable               # what follows from the moves, by side
    found.to_json()                             # as it stands in the file

Whether the results follow from the moves is asked by `verify`, not here: see docs/CERTIFICATE.md.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tictactoe_env.certificates.stated import CertificateError, Stated, is_number
from tictactoe_env.exact.match import OptimalShare, Result
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.verdict import Proven, verdict
from tictactoe_env.notation import cell_text
from tictactoe_env.rules import SIDES, Rules

TABLE, LINES = 1, 2  # the formats: the moves in all positions, or in those that can be met


@dataclass(frozen=True)
class Rates:
    """The results of a side in shares of all games; illegal: lost by a move on a taken cell."""

    win: float
    draw: float
    loss: float
    illegal: float

    @classmethod
    def of(cls, result: Result) -> Rates:
        """The rates of an exact result."""
        return cls(result.win, result.draw, result.loss, result.illegal)


@dataclass(frozen=True)
class SideResults:
    """The exact results of a player as one side.

    unbeatable: whether it never loses, whatever the opponent does. always_wins: whether it wins
    every game. losing_line: the cells of the shortest game that it loses, None without one.
    worst_case_value, worst_case_loss: win - loss, and the loss, against a best response.

    Of a certificate of all positions: optimal, whether it is unbeatable and no unbeatable player
    wins more often against random play; vs_minimax, against perfect play that picks at random
    among its best moves; limit_vs_random, the best achievable result against random play of a
    player that never loses, None if there is none.

    Of a certificate of lines: positions, the number of unfinished positions that it can meet;
    decisions, of those in which it moves.
    """

    unbeatable: bool
    always_wins: bool
    losing_line: tuple[str, ...] | None
    worst_case_value: float
    worst_case_loss: float
    vs_random: Rates
    optimal: bool = False
    vs_minimax: Rates | None = None
    limit_vs_random: Rates | None = None
    positions: int = 0
    decisions: int = 0

    @property
    def proven(self) -> Proven:
        """What the verdict on the side is made of."""
        return Proven(self.unbeatable, self.optimal, self.always_wins, self.losing_line)


@dataclass(frozen=True)
class Certificate:
    """The moves of a player, and the exact results that follow from them.

    moves: in all positions, {board: cell or {cell: probability}}, or as compressed text in those
    that the player can meet. results: by side. canonical: of a certificate of lines, whether
    symmetric positions count once; else None. optimal_moves: of a certificate of all positions.
    """

    rules: Rules
    moves: Mapping[str, Any] | str
    sha256_of_moves: str
    results: Mapping[str, SideResults]
    stated: Stated
    optimal_moves: OptimalShare | None = None
    canonical: bool | None = None

    @property
    def is_of_lines(self) -> bool:
        """Whether it holds the moves in the positions that the player can meet only."""
        return self.canonical is not None

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides whose results it holds."""
        return tuple(self.results)

    @property
    def trained_sides(self) -> tuple[str, ...]:
        """The sides that the player was trained for, as its configuration states; or all."""
        return sides_of(self.stated.config, self.sides)

    @property
    def trained(self) -> dict[str, SideResults]:
        """The results of the sides that the player was trained for."""
        return {side: self.results[side] for side in self.trained_sides}

    @property
    def only(self) -> str:
        """The side for which alone the player was trained or certified; "" for both."""
        return self.trained_sides[0] if len(self.trained_sides) == 1 else ""

    def verdict(self, games: bool = True) -> str:
        """Say whether the player can be beaten, see `exact.verdict`.

        That it was trained as one side is only stated, so what is proven of the other side follows.
        """
        found = verdict({side: one.proven for side, one in self.trained.items()}, games)
        if not self.only:
            return found
        other = "O" if self.only == "X" else "X"
        if other not in self.results:
            return f"{found}; nothing is proven as {other}"
        rest = verdict({other: self.results[other].proven}, games=False)
        return f"{found}; trained as {self.only} only, it {rest}"

    @property
    def claim(self) -> str:
        """The verdict with the board; it begins with "PROVEN" unless the player can be beaten."""
        found = self.trained
        is_safe = all(one.unbeatable for one in found.values())
        if is_safe or ("X" in found and found["X"].always_wins):
            return f"PROVEN on {self.rules}: {self.verdict()}"
        return f"on {self.rules} it {self.verdict()}"

    def verified_text(self, path: object) -> str:
        """What is printed of a verified certificate: the verdict, and then what it is about."""
        return (
            f"{self.claim}\nverified: {path} ({self.stated.agent}), {self.decisions:,} positions: "
            "every result follows from the moves; name, seed, configuration and times cannot be "
            "verified"
        )

    @property
    def unbeatable(self) -> bool | None:
        """Whether the player never loses; None if that is not known of a side."""
        never = all(found.unbeatable for found in self.results.values())
        return None if never and len(self.results) < len(SIDES) else never

    @property
    def optimal(self) -> bool:
        """Whether the player is optimal on both sides."""
        return all(found.optimal for found in self.results.values())

    @property
    def decisions(self) -> int:
        """The number of positions whose move it holds."""
        if self.is_of_lines:
            return sum(found.decisions for found in self.results.values())
        return len(self.moves)

    @classmethod
    def from_json(cls, content: object) -> Certificate:
        """The certificate that a JSON value holds.

        Raises CertificateError, which names the entry, for one that is missing, unknown or not of
        its form, and for a whole that does not follow from the results of the sides.
        """
        entries = _Entries(content)
        is_of_lines = _format(entries) == LINES
        rules, sides = _board(entries.part("board")), tuple(SIDES)
        canonical, shares = None, None
        if is_of_lines:
            sides = _sides(entries.take("sides", list))
            canonical = entries.take("canonical", bool)
        else:
            check_board(rules)
            part = entries.part("optimal_moves")
            shares = OptimalShare(*(part.take(name, float) for name in ("everywhere", "reachable")))
            part.end()
        parts = {side: entries.part(f"as_{side.lower()}") for side in sides}
        found = cls(
            rules,
            entries.take("moves", str if is_of_lines else dict),
            entries.take("sha256_of_moves", str),
            {side: _results(part, rules, is_of_lines) for side, part in parts.items()},
            Stated(
                agent=entries.take("agent"),
                seed=entries.take("seed"),
                config=entries.take("config"),
                versions=entries.take("versions"),
                training=entries.take("training") if "training" in entries.left else {},
            ),
            shares,
            canonical,
        )
        for name in ("unbeatable",) if is_of_lines else ("unbeatable", "optimal"):
            whole, stated = getattr(found, name), entries.take(name)
            if whole is not stated:
                raise CertificateError(
                    f"{name} is {whole} by the results of the sides, but {reprlib.repr(stated)} in "
                    "the certificate"
                )
        entries.end()
        return found

    def to_json(self) -> dict[str, Any]:
        """The certificate as a JSON value, in the order of the file."""
        whole: dict[str, Any]
        if self.is_of_lines:
            names = LINES_NAMES
            whole = {"sides": list(self.sides), "canonical": self.canonical}
            whole |= {"unbeatable": self.unbeatable}
        else:
            names = TABLE_NAMES
            whole = {"unbeatable": self.unbeatable, "optimal": self.optimal}
        sides = {
            f"as_{side.lower()}": _results_json(found, names)
            for side, found in self.results.items()
        }
        stated = self.stated
        return {
            "format": LINES if self.is_of_lines else TABLE,
            "agent": stated.agent,
            "board": asdict(self.rules),
            **whole,
            **sides,
            **({"optimal_moves": asdict(self.optimal_moves)} if self.optimal_moves else {}),
            **{name: getattr(stated, name) for name in ("seed", "config", "versions")},
            "moves": self.moves,
            **({"training": stated.training} if stated.training else {}),
            "sha256_of_moves": self.sha256_of_moves,
        }


COMMON = ("losing_line", "worst_case_value", "worst_case_loss", "vs_random")
TABLE_NAMES = ("unbeatable", "optimal", *COMMON, "vs_minimax", "limit_vs_random")
LINES_NAMES = ("unbeatable", "always_wins", *COMMON, "positions", "decisions")


def _results_json(found: SideResults, names: Collection[str]) -> dict[str, Any]:
    """The results of a side as a JSON value."""
    content = {name: value for name, value in asdict(found).items() if name in names}
    content["losing_line"] = None if found.losing_line is None else list(found.losing_line)
    return {name: content[name] for name in names}


def sides_of(config: Mapping[str, Any], sides: tuple[str, ...] = SIDES) -> tuple[str, ...]:
    """The one of some sides that a configuration names, or all of them."""
    return (config["side"],) if config.get("side") in sides else sides


def seems_to_win(unbeatable: bool, vs_random: Rates) -> bool:
    """Whether a player wins every game, as far as its rates can tell.

    Against random play every reply can come, so what never happens then never happens at all.
    """
    return unbeatable and vs_random.draw == vs_random.loss == 0


def check_board(rules: Rules) -> None:
    """Raises CertificateError for a board of more than 12 cells, which has too many positions."""
    if rules.cells > TABULATED:
        raise CertificateError(
            f"a board of {rules.rows}x{rules.cols} has too many positions for a table of all of "
            f"them: at most {TABULATED} cells (3x4) are tabulated, this one has {rules.cells}"
        )


# --- from JSON ------------------------------------------------------------------------------------


class _Missing:
    """In place of an entry that is not there."""

    def __repr__(self) -> str:
        return "'nothing'"


MISSING = _Missing()
KINDS: Mapping[type, tuple[str, Callable[[Any], bool]]] = {
    object: ("there", lambda value: value is not MISSING),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number of at least 0", lambda value: type(value) is int and value >= 0),
    float: ("a finite number", is_number),
    str: ("text", lambda value: isinstance(value, str)),
    list: ("a list", lambda value: isinstance(value, list)),
    dict: ("an object", lambda value: isinstance(value, Mapping)),
}
"""The kinds of values in JSON: in words, and whether a value is one."""


class _Entries:
    """The entries of a JSON object, to be taken out one by one."""

    def __init__(self, content: Any, place: str = ""):
        if not isinstance(content, Mapping):
            what = f"{place} must be" if place else "this is not a certificate: expected"
            raise CertificateError(f"{what} an object, got {reprlib.repr(content)}")
        self.left, self.place = dict(content), f"{place}." if place else ""

    def take(self, name: str, kind: type = object) -> Any:
        """The value of an entry. Raises CertificateError if it is missing or of another kind."""
        value, (expected, is_right) = self.left.pop(name, MISSING), KINDS[kind]
        if not is_right(value):
            got = reprlib.repr(value)
            raise CertificateError(f"{self.place}{name} must be {expected}, got {got}")
        return float(value) if kind is float else value

    def part(self, name: str) -> _Entries:
        """The entries of an object in this one."""
        return _Entries(self.take(name, dict), f"{self.place}{name}")

    def end(self) -> None:
        """Raises CertificateError if an entry is left."""
        if self.left:
            name = f"{self.place}{min(map(str, self.left))}"
            raise CertificateError(f"unknown entry, not verifiable: {reprlib.repr(name)}")


def _format(entries: _Entries) -> int:
    """The format of a certificate. Raises CertificateError unless it is known here."""
    number = entries.take("format")
    if type(number) is int and number in (TABLE, LINES):
        return number
    is_newer = isinstance(number, int) and number > LINES
    newer = "; a newer version of tictactoe-env may read it" * is_newer
    raise CertificateError(
        f"this is not a certificate of format {TABLE} or {LINES}: its format is "
        f"{reprlib.repr(number)}{newer}"
    )


def _board(entries: _Entries) -> Rules:
    sizes = [entries.take(name, int) for name in ("rows", "cols", "k")]
    entries.end()
    try:
        return Rules(*sizes)
    except ValueError as error:
        raise CertificateError(f"this is no board: {error}") from None


def _sides(stated: list[Any]) -> tuple[str, ...]:
    sides = tuple(side for side in SIDES if side in stated)
    if not sides or stated != list(sides):
        raise CertificateError(f'sides must be one or both of ["X", "O"], got {stated!r:.50}')
    return sides


def _results(entries: _Entries, rules: Rules, is_of_lines: bool) -> SideResults:
    line = entries.take("losing_line")
    if line is not None:
        cells = [cell_text(cell, rules) for cell in range(rules.cells)]
        if not isinstance(line, list) or any(cell not in cells for cell in line):
            raise CertificateError(
                f"{entries.place}losing_line must be a list of cells or null, got "
                f"{reprlib.repr(line)}"
            )
        line = tuple(line)
    unbeatable, vs_random = entries.take("unbeatable", bool), _rates(entries.part("vs_random"))
    about: dict[str, Any]
    if is_of_lines:
        about = {
            "always_wins": entries.take("always_wins", bool),
            "positions": entries.take("positions", int),
            "decisions": entries.take("decisions", int),
        }
    else:
        limit = entries.take("limit_vs_random")
        about = {
            "always_wins": seems_to_win(unbeatable, vs_random),
            "optimal": entries.take("optimal", bool),
            "vs_minimax": _rates(entries.part("vs_minimax")),
            "limit_vs_random": None
            if limit is None
            else _rates(_Entries(limit, f"{entries.place}limit_vs_random")),
        }
    value, loss = (entries.take(f"worst_case_{name}", float) for name in ("value", "loss"))
    entries.end()
    return SideResults(
        unbeatable=unbeatable,
        losing_line=line,
        worst_case_value=value,
        worst_case_loss=loss,
        vs_random=vs_random,
        **about,
    )


def _rates(entries: _Entries) -> Rates:
    rates = Rates(*(entries.take(name, float) for name in ("win", "draw", "loss", "illegal")))
    entries.end()
    return rates
