"""A finished game as data: the players, the board, every move and the result; as text and JSON.

    game = Game(x=Participant("human", "Ann"), moves=(4, 0, 2, 8, 6), origin="web")
    game.result, game.ended                 # "X", "line": they follow from the moves
    Game.parse("b2 a1 c1 c3 a3").moves      # the moves alone are enough
    Game.parse(game.line()) == game         # `line` writes the moves, then all other fields

A new `Game` replays its moves and raises ValueError if such a game is impossible. A
`tictactoe_env.games.store.GameStore` keeps games in a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from tictactoe_env.errors import one_of, unknown_name, whole_number
from tictactoe_env.files import json_value
from tictactoe_env.notation import game_text, parse_moves, parse_size, replay, variant_words
from tictactoe_env.rules import SIDES, Boards, GameState, Rules, game_state

# A person; a player known by its name, such as minimax; a saved run; not recorded.
KINDS = ("human", "agent", "run", "unknown")
PERSON = "human"  # the name of a person who gives none
RESULTS = (*SIDES, "draw")
SCORES = {"1-0": "X", "0-1": "O", "1/2-1/2": "draw"}
SPELLINGS = {"x": "X", "o": "O", "tie": "draw", "draw": "draw", **SCORES}  # in small letters
# early: a draw because every line had marks of both sides, with the option `early_draw`.
ENDINGS = ("line", "full", "early", "illegal", "resigned")
# file: a game of a file that names no origin.
ORIGINS = ("human", "battle", "web", "training", "file")
SQUARE = Rules()
rules_of = lru_cache(maxsize=256, typed=True)(Rules)  # a Rules object computes its lines once
_board_of = lru_cache(maxsize=256)(parse_size)
MAX_NAME = 100  # characters
MAX_SOURCE = 1000
LARGEST = 2**63 - 1  # the largest whole number of SQLite
MAX_JSON = 16 << 20  # bytes of a JSON list of games
MAX_LINE = 64_000  # characters of a game as text; the longest has fewer than 30,000


@dataclass(frozen=True)
class Participant:
    """The name of a player of a game. It makes no moves: a `Policy` does.

    kind: one of KINDS. source: the folder of a run or the sha256 of its certificate, if any.
    """

    kind: str
    name: str
    source: str = ""

    def __post_init__(self) -> None:
        one_of("kind of player", self.kind, KINDS)
        _check_text("name", self.name, 1, MAX_NAME)
        _check_text("source", self.source, 0, MAX_SOURCE)

    def __str__(self) -> str:
        """kind:name or kind:name:source; blanks and `%#:` are percent-encoded, as %20 and so on."""
        parts = filter(None, (self.kind, self.name, self.source))
        return ":".join(re.sub(r"[%#:\s]", lambda found: quote(found[0]), part) for part in parts)

    @classmethod
    def parse(cls, text: str) -> Participant:
        """The player that a text such as "human:Ann" describes, the inverse of `str`.

        A name alone is a player whose kind is "unknown".
        """
        parts = text.split(":")
        if len(parts) == 1:
            parts = ["unknown", *parts]
        if len(parts) > 3:
            raise ValueError(f"a player is name, kind:name or kind:name:source, got {text!r}")
        return cls(*(unquote(part, errors="strict") for part in parts))


def _check_text(what: str, text: Any, low: int, high: int) -> None:
    is_plain = isinstance(text, str) and text.isprintable() and text == text.strip()
    if not is_plain or not low <= len(text) <= high:
        expected = f"{low} to {high} printable letters, without blanks around them"
        raise ValueError(f"the {what} of a player must be {expected}, got {text!r:.120}")


UNKNOWN = Participant("unknown", "unknown")
# The fields of a game as text or JSON, beside its moves and those that make its board a variant
# (`Rules.further_fields`).
_FIELDS = ("x", "o", "board", "k", "result", "ended", "side", "seed", "origin", "time")
_IN_JSON = {*_FIELDS, *Rules.further_fields(), "moves", "id"}
_KNOWN = {
    "origin": ORIGINS,
    "ended": ("", *ENDINGS),
    "result": ("", *RESULTS),
    "side": (None, *SIDES),
}


@dataclass(frozen=True, kw_only=True)
class Game:
    """A finished game. Raises ValueError for a wrong field, IllegalMoveError for an illegal move.

    x, o: the players. moves: cells from 0, X first. origin: one of ORIGINS.
    result: "X", "O" or "draw". ended: one of ENDINGS. Both may be left out after a line or on a
    full board, where they follow from the moves. "illegal": the last move, and no other, is on a
    taken cell and loses. "early": a draw, because nobody can complete a line. "resigned": the
    result must be given.
    side: the side of the person or the learner, if there is one. time: ISO text with a time zone,
    stored as UTC to the second; now by default. id: its number in a store, None outside a store.
    """

    x: Participant = UNKNOWN
    o: Participant = UNKNOWN
    moves: tuple[int, ...]
    origin: str
    rules: Rules = SQUARE
    result: str = ""
    ended: str = ""
    side: str | None = None
    seed: int | None = None
    time: str = ""
    id: int | None = None

    def __post_init__(self) -> None:
        for name, kind in (("x", Participant), ("o", Participant), ("rules", Rules)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {getattr(self, name)!r}")
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise unknown_name(f"{name} of a game", getattr(self, name), filter(None, known))
        fields: dict[str, Any] = {"time": _utc(self.time)}
        for name, low in (("seed", 0), ("id", 1)):
            if (number := getattr(self, name)) is not None:
                fields[name] = whole_number(number, f"{name} of a game", low, LARGEST)
        moves = tuple(self.moves)
        game = game_state(moves, self.rules)
        fields["ended"], fields["result"] = self._ending(game)
        for name in ("ended", "result"):
            if getattr(self, name) not in ("", fields[name]):
                got = f"after {self.text!r}, got {getattr(self, name)!r}"
                raise ValueError(f"{name} is {fields[name]!r} {got}")
        fields["moves"] = (*game.moves, *map(int, moves[len(game.moves) :]))
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _ending(self, game: GameState) -> tuple[str, str]:
        """The ending and the result."""
        if game.illegal is not None:
            is_last = game.illegal == len(self.moves) - 1
            if game.ended == self.ended == "illegal" and is_last:
                return "illegal", str(game.winner)
            replay(self.moves, self.rules)  # raises the IllegalMoveError, which names the move
        if game.ended:
            return game.ended, game.winner or "draw"
        if self.ended == "early" and self.rules.is_dead(game.x, game.o):
            return "early", "draw"
        if self.ended == "resigned" and self.result in SIDES:
            return "resigned", self.result
        raise ValueError(
            f"the game is not finished after {len(self.moves)} moves, {self.text!r}, "
            f"ended={self.ended!r}, result={self.result!r}; one that a side gave up has "
            "ended=resigned and a result"
        )

    @property
    def text(self) -> str:
        """The moves, such as "b2 a1 c3"."""
        return game_text(self.moves, self.rules)

    @property
    def boards(self) -> Boards:
        """The boards of the game, (legal moves + 1, cells) int8, the empty one first."""
        return replay(self.moves[: len(self.moves) - (self.ended == "illegal")], self.rules)

    # --- text and JSON ---------------------------------------------------------------------------

    def line(self) -> str:
        """The game as a line of text: its moves, then its fields as name=value, without the id."""
        board = {"board": f"{self.rules.rows}x{self.rules.cols}", "k": self.rules.k}
        values = {**vars(self), **board}
        known = (f"{name}={values[name]}" for name in _FIELDS if values[name] is not None)
        return " ".join([*self.text.split(), *known, *variant_words(self.rules)])

    @classmethod
    def parse(cls, line: str, rules: Rules = SQUARE, numbers_from: int | None = None) -> Game:
        """The game of a line of text, the inverse of `line`. The moves are enough.

        `#` begins a comment. rules, numbers_from: as in `from_json`, which reads lines of JSON.
        """
        if line.lstrip().startswith(("{", "[", '"')):
            return cls.from_json(json_value(line), rules, numbers_from)
        words = line.partition("#")[0].split()
        words = [f"result={word}" if word in SCORES else word for word in words]
        fields: dict[str, Any] = {}
        further = Rules.further_fields()
        for name, _, value in (word.partition("=") for word in words if "=" in word):
            if name in fields:
                raise ValueError(f"{name}= is given twice in the line: leave one out")
            one_of("field of a game", name, (*_FIELDS, *further))
            fields[name] = value
        if "seed" in fields:
            fields["seed"] = _number(fields["seed"], "seed")
        moves = " ".join(word for word in words if "=" not in word)
        return cls.from_json({**fields, "moves": moves}, rules, numbers_from)

    def as_json(self) -> dict[str, Any]:
        """The game as JSON values: players and `board` as objects, `moves` as text."""
        values = asdict(self)
        del values["rules"]
        return values | {"board": self.rules.to_json(), "moves": self.text}

    @classmethod
    def from_json(
        cls, content: Any, rules: Rules = SQUARE, numbers_from: int | None = None
    ) -> Game:
        """The game of JSON values, the inverse of `as_json`. The moves are enough.

        content: an object, a list of moves, or a line of text. An object may have the fields of a
        line, with its players and its board as texts, "Ann" and "6x7x4", or be a replay of Kaggle's
        ConnectX or tic-tac-toe. A field that is null is as if left out.
        rules: the board if it names none. numbers_from: 0 or 1, the first number of moves that are
        numbers. Raises ValueError for values that are no game.
        """
        if isinstance(content, str):
            return cls.parse(content, rules, numbers_from)
        try:
            values: dict[str, Any]
            values = {"moves": content} if isinstance(content, list) else dict(content)
            if "steps" in values:
                values = _fields_of_kaggle(values)
                numbers_from = 0
            for name in values.keys() - _IN_JSON:
                one_of("field of a game", name, _IN_JSON)
            values = {name: value for name, value in values.items() if value is not None}
            if isinstance(board := values.get("board"), dict):
                rules = rules_of(**board)
                del values["board"]
            else:
                rules = _rules_in(values, rules)
            for side in ("x", "o"):
                if side in values:
                    values[side] = _player(values[side])
            if isinstance(result := values.get("result"), str):
                values["result"] = SPELLINGS.get(result.lower(), result)
            values["moves"] = tuple(parse_moves(values["moves"], rules, numbers_from))
            return cls(rules=rules, **{"origin": "file", **values})
        except (TypeError, LookupError, AttributeError) as error:
            expected = "a game is an object with moves, or a list of moves"
            raise ValueError(f"{expected}, got {content!r:.200}: {error!r}") from None


def _player(told: Any) -> Participant:
    """The player that a text or an object describes."""
    if isinstance(told, str):
        return Participant.parse(told)
    return Participant(**{"kind": "unknown", **told})


def _fields_of_kaggle(replay: dict[str, Any]) -> dict[str, Any]:
    """The fields of a game, with moves as numbers from 0, from a replay of Kaggle's environments.

    `steps` has the empty board, and then the actions of both agents, of which one moves in turn.
    """
    board = "3x3"
    if one_of("game of Kaggle", replay["name"], ("connectx", "tictactoe")) == "connectx":
        board = "{rows}x{columns}x{inarow}-gravity=true".format(**replay["configuration"])
    moves = [step[turn % 2]["action"] for turn, step in enumerate(replay["steps"][1:])]
    names = [{"name": name} for name in replay.get("info", {}).get("TeamNames", ())]
    players = zip(("x", "o"), names, strict=False)
    return {"moves": moves, "board": board, **dict(players)}


def _rules_in(fields: dict[str, Any], usual: Rules) -> Rules:
    """The board that the fields of a game name in words, which are taken out of them.

    What is not named is as in `usual`; but a board that is named has only what is named with it.
    """
    named = {name: fields.pop(name) for name in Rules.further_fields() if name in fields}
    variant = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in named.items()
    ]
    if "board" not in fields:
        variant = variant or variant_words(usual)
        fields.setdefault("k", str(usual.k))
    size = fields.pop("board", f"{usual.rows}x{usual.cols}")
    if "k" in fields:
        size += f"x{fields.pop('k')}"
    return _board_of("-".join([size, *variant]))


def _number(text: str, what: str) -> int:
    """The whole number that `text` writes in digits; ValueError for other text."""
    if not re.fullmatch("[0-9]{1,19}", text):
        raise ValueError(f"{what} must be a whole number, got {text!r}")
    return int(text)


def _utc(text: str) -> str:
    """A time as UTC to the second, such as 2026-05-09T07:35:25Z; "" is now."""
    try:
        when = datetime.now(UTC) if text == "" else datetime.fromisoformat(text.upper())
        if when.tzinfo is None:
            raise ValueError("it names no zone")
        return when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"the time must be ISO text such as 2026-05-09T07:35:25Z, got {text!r:.80}: {error}"
        ) from None


# --- many games ----------------------------------------------------------------------------------


def parse_lines(lines: Iterable[str], source: str = "", **reading: Any) -> Iterator[Game]:
    """The games of lines of text or JSON, one a line. Empty lines and comments are skipped.

    source: the name of the file, for errors, which name the line. reading: as in `read_games`.
    """
    yield from _games(_records(lines, f" of {source}" if source else ""), **reading)


def _records(lines: Iterable[str], source: str) -> Iterator[tuple[str, str]]:
    """The lines that are games, after their places."""
    for number, line in enumerate(lines, 1):
        where = f"line {number}{source}"
        if len(line) > MAX_LINE:
            raise ValueError(f"{where}: a game has at most {MAX_LINE:,} characters")
        if line.partition("#")[0].strip():
            yield where, line


def parse_json(text: str, source: str = "the list", **reading: Any) -> Iterator[Game]:
    """The games of a JSON list, or the one of a JSON object or a list of moves.

    source: the name of the file, for errors, which name the number of the game. reading: as in
    `read_games`.
    """
    try:
        content = json_value(text)
    except ValueError as error:
        raise ValueError(f"expected games as JSON in {source}: {error}") from None
    is_list = isinstance(content, list) and not (content and _is_move(content[0]))
    games = enumerate(content if is_list else [content], 1)
    records = ((f"game {number} of {source}", game) for number, game in games)
    yield from _games(records, **reading)


def _is_move(value: Any) -> bool:
    """True for a number or a word such as "b2", False for a whole game."""
    text = str(value).strip() if isinstance(value, (int, str)) else ""
    return re.fullmatch("[A-Za-z]{1,2}[0-9]{0,2}|[0-9]{1,2}", text) is not None


def _games(
    records: Iterable[tuple[str, Any]],
    rules: Rules = SQUARE,
    numbers_from: int | None = None,
    on_error: Callable[[ValueError], object] | None = None,
) -> Iterator[Game]:
    """The games of records, which are lines or JSON values, each after its place."""
    for where, record in records:
        try:
            yield Game.from_json(record, rules, numbers_from)
        except ValueError as error:
            wrong = ValueError(f"{where}: {error}")
            if on_error is None:
                raise wrong from None
            on_error(wrong)


def json_text(games: Iterable[Game]) -> str:
    """Games as one JSON list, one game a line."""
    lines = (json.dumps(game.as_json(), ensure_ascii=False) for game in games)
    return "[" + ",\n".join(lines) + "]\n"
