"""Documents that were written before `Rules` got a further field are read, and written alike."""

import json
import pickle
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from any_games import game
from grown import grown
from programs import printed
from sample_players import fixed_table
from text_cases import refuses

from tictactoe_env import Rules, TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.certificates import Certificate, CertificateError, certify, trained, write
from tictactoe_env.exact import MinimaxPolicy
from tictactoe_env.games import Game, GameStore
from tictactoe_env.games.game import json_text, parse_json
from tictactoe_env.notation import parse_size, rules_text

RECTANGLE = Rules(2, 3, 2)
CONTENT = certify(MinimaxPolicy(RECTANGLE), "perfect").to_json()
GAMES = [game(), game("a1 a2 b1", RECTANGLE), game("b2 b2", ended="illegal")]
PROGRAM = """
import json, pickle, sys
from pathlib import Path
import tictactoe_env
from tictactoe_env import Rules, TicTacToeVectorEnv, certificates
from tictactoe_env.games import Game, GameStore, read_games
from tictactoe_env.games.game import json_text
from tictactoe_env.certificates import trained

assert Path(tictactoe_env.__file__).parent.parent == Path.cwd()
assert Rules().variant == {}
before, after = map(Path, sys.argv[1:])
for path in before.glob("*.certificate.json"):
    found = certificates.read(path)
    assert not found.rules.wrapped
    certificates.verify(found)
    certificates.write(found, after / path.name)
for name in trained.trained_names():
    content = trained.certificate_of(name).to_json()
    (after / f"{name}.packed").write_text(json.dumps(content))
for rules in (Rules(4, 4, 4), Rules(5, 5, 4), Rules(6, 7, 4, gravity=True)):
    for name in trained.trained_names(rules):
        found = trained.certificate_of(name, rules)
        certificates.write(found, after / (name + trained.ending(rules)))
lines = [f"{one.line()}\\n" for one in read_games(before / "games.txt")]
(after / "games.txt").write_text("".join(lines))
(after / "games.json").write_text(json_text(read_games(before / "games.json")))
with GameStore(after / "games.db") as store:
    store.add_many(read_games(before / "games.db"))
envs = TicTacToeVectorEnv(4, "minimax")
envs.load_state_dict(pickle.loads((before / "state").read_bytes()))
(after / "state").write_bytes(pickle.dumps(envs.state_dict()))
"""


def rows_of(path):
    """The rows of a store as they are in the file."""
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM games").fetchall()


def test_a_version_with_a_further_field_reads_all_documents_and_writes_them_alike(tmp_path):
    before = tmp_path / "before"
    after = tmp_path / "after"
    for folder in (before, after, tmp_path / "grown"):
        folder.mkdir()
    table = certify(MinimaxPolicy(RECTANGLE), "perfect", RECTANGLE)
    write(table, before / "table.certificate.json")
    lines = certify(fixed_table(Rules()), "fixed", reach_only=True)
    write(lines, before / "lines.certificate.json")
    (before / "games.txt").write_text("".join(f"{one.line()}\n" for one in GAMES))
    (before / "games.json").write_text(json_text(GAMES))
    with GameStore(before / "games.db") as store:
        store.add_many(GAMES)
    envs = TicTacToeVectorEnv(4, "minimax")
    envs.reset(seed=0)
    (before / "state").write_bytes(pickle.dumps(envs.state_dict()))
    printed("-c", PROGRAM, before, after, folder=grown(tmp_path / "grown"))
    for path in before.iterdir():
        if path.suffix == ".db":
            assert rows_of(after / path.name) == rows_of(path)
        else:
            assert (after / path.name).read_bytes() == path.read_bytes(), path.name
    larger = list(trained.FOLDER.glob("*.json"))
    assert larger
    for path in larger:
        assert (after / path.name).read_bytes() == path.read_bytes(), path.name
    for name in trained.trained_names():
        known = json.dumps(trained.certificate_of(name).to_json())
        assert (after / f"{name}.packed").read_text() == known


def unknown(**further):
    """A board with a further field, as JSON."""
    return {**Rules().to_json(), **further}


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (lambda: parse_size("3x3x3-wild=true"), ValueError),
        (lambda: Game.parse("a1 b1 a2 b2 a3 wild=true"), ValueError),
        (
            lambda: list(parse_json(json.dumps([{**game().as_json(), "board": unknown(wild=1)}]))),
            ValueError,
        ),
        (lambda: Certificate.from_json({**CONTENT, "board": unknown(wild=1)}), CertificateError),
        (lambda: TicTacToeEnv(wild=True), TypeError),
        (lambda: TicTacToeVectorEnv(2, wild=True), TypeError),
    ],
)
def test_a_field_that_no_board_has_is_refused_by_name(read, error):
    with refuses("wild", error=error):
        read()


def test_the_text_of_a_board_is_that_of_its_sizes():
    assert rules_text(RECTANGLE) == "2x3x2"
    assert replace(RECTANGLE, k=3).to_json() == {"rows": 2, "cols": 3, "k": 3}
