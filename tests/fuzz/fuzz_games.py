"""Games to import, damaged and hostile: games that follow the rules, or a refusal in one line."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from any_games import any_games
from fuzz.damage import changed, damaged
from hypothesis import given
from hypothesis import strategies as st
from oracles.plain_game import lines_of, plain_standing

from tictactoe_env.games.game import ENDINGS, RESULTS, Game, json_text
from tictactoe_env.games.store import read_games

GAMES = st.lists(any_games(), min_size=1, max_size=4)
FOLDER = TemporaryDirectory()  # removed at the end


def check_import(data):
    """The games of these bytes, which follow the rules; None if they are refused."""
    path = Path(FOLDER.name, "games")
    said = ""
    games = None
    path.write_bytes(data)
    try:
        games = list(read_games(path))
    except ValueError as error:
        said = str(error)
    assert said.isprintable()
    for game in games or ():
        size = (game.rules.rows, game.rules.cols, game.rules.k)
        found = plain_standing(game.moves, size, early_draw=False)
        if game.ended in ("early", "resigned"):
            assert (found["ended"], found["illegal"]) == ("", None)
            marks = [{found["board"][cell] for cell in line} for line in lines_of(*size)]
            assert game.ended == "resigned" or all({1, -1} <= both for both in marks)
        else:
            assert (found["ended"], found["winner"] or "draw") == (game.ended, game.result)
            assert found["illegal"] in (None, len(game.moves) - 1)
        assert game.line().isprintable()
        assert Game.parse(game.line()) == game or game.id is not None
        assert Game.from_json(game.as_json()) == game
    return games


def as_lines(games):
    return "".join(f"{game.line()}\n" for game in games).encode()


@given(GAMES)
def test_games_are_read_as_they_were_written(games):
    assert check_import(as_lines(games)) == games
    assert check_import(json_text(games).encode()) == games


@st.composite
def other_games(draw):
    """A game as JSON with other moves, another end or another result."""
    values = draw(any_games()).as_json()
    moves = values["moves"].split()
    at = draw(st.integers(0, len(moves)))
    ways = [moves[:at], moves[:at] + moves[at + 1 :], moves[at:] + moves[:at], [*moves, *moves[:1]]]
    moves = draw(st.sampled_from([moves, *ways]))
    ended, result = (draw(st.sampled_from(names)) for names in (ENDINGS, RESULTS))
    others = {"moves": " ".join(moves), "ended": ended, "result": result}
    names = draw(st.sets(st.sampled_from(sorted(others)), min_size=1))
    return {**values, **{name: others[name] for name in names}}


WRITTEN = GAMES.map(as_lines) | GAMES.map(json_text).map(str.encode)
VALUES = GAMES.map(lambda games: [game.as_json() for game in games]).flatmap(changed)
VALUES |= st.lists(other_games(), min_size=1, max_size=3)


@given(WRITTEN.flatmap(damaged) | VALUES.map(json.dumps).map(str.encode))
def test_damaged_files_and_other_moves_ends_or_values_are_games_or_refused(data):
    check_import(data)
