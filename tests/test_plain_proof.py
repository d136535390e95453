"""Certificates, recomputed by oracles/plain_proof.py, which shares no code with the package."""

import ast
import base64
import copy
import functools
import hashlib
import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from oracles import plain_proof
from oracles.plain_proof import Refused
from sample_players import FixedPlayer, LineCounter, Mistaken, random_probs

from tictactoe_env import certificate
from tictactoe_env import lines as lines_module
from tictactoe_env.canonical import CanonicalPolicy
from tictactoe_env.certificate import CertificateError, certify, verify
from tictactoe_env.notation import parse_board
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy, TabularPolicy
from tictactoe_env.rules import Rules

RECTANGLE = Rules(2, 3, 3)


def certified(policy, rules, **options):
    """A certificate as it is read from its file."""
    return json.loads(json.dumps(certify(policy, "test", rules, **options)))


def sealed(content):
    """The content with the digest of the moves that it has now."""
    text = json.dumps(content["moves"], sort_keys=True, separators=(",", ":"))
    return {**content, "sha256_of_moves": hashlib.sha256(text.encode()).hexdigest()}


def refused_by_both(content):
    with pytest.raises(Refused):
        plain_proof.check(content)
    with pytest.raises(CertificateError):
        verify(content)


def test_it_imports_the_standard_library_only():
    tree = ast.parse(Path(plain_proof.__file__).read_text(encoding="utf-8"))
    names = [one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)]
    imports = [one for one in ast.walk(tree) if isinstance(one, ast.Import)]
    names += [name.name for one in imports for name in one.names]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_as_a_program_it_needs_the_file_only_and_refuses_a_false_one(tmp_path):
    content = certified(make_opponent("minimax-first", Rules(2, 4, 3)), Rules(2, 4, 3))
    program = [sys.executable, "-I", "-S", plain_proof.__file__]
    for given, code, said in (
        (content, 0, "c.json: as X unbeatable, "),
        ({**content, "unbeatable": False}, 1, "c.json: REFUSED: unbeatable is True, "),
    ):
        (tmp_path / "c.json").write_text(json.dumps(given))
        done = subprocess.run([*program, "c.json"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, said in done.stdout) == (code, True), done


AGENTS = {"maskable_ppo": True, "dqn": True, "tabular_q": True, "minimax": True, "random": False}
AGENTS |= {"tictacnet-tictac": False}


@pytest.mark.parametrize("agent", AGENTS)
def test_it_agrees_with_the_certificate_of_an_agent_on_3x3(agent):
    content = certified(make_opponent(agent, Rules()), Rules())
    verify(content)
    nearest = [meeting.start.nearest for meeting in plain_proof.check(content).values()]
    assert (nearest == [None, None]) is AGENTS[agent]


def stochastic(rules):
    """Arbitrary probabilities, on taken cells too, some of them zero."""
    return TabularPolicy(rules, random_probs(rules, np.random.default_rng(0), 0.3))


OTHERS = [
    (lambda rules: FixedPlayer(3), Rules(2, 4, 3)),
    (stochastic, RECTANGLE),
    (lambda rules: RandomPolicy(), Rules(1, 1, 1)),
    (lambda rules: RandomPolicy(), Rules(2, 3, 1)),
    pytest.param(lambda rules: FixedPlayer(3), Rules(3, 4, 3), marks=pytest.mark.slow),
    pytest.param(
        lambda rules: make_opponent("minimax-first", rules), Rules(3, 4, 4), marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("player", "rules"), OTHERS)
def test_it_agrees_on_other_boards_and_with_players_that_draw_their_moves(player, rules):
    content = certified(player(rules), rules)
    verify(content)
    plain_proof.check(content)


# --- a losing line deep down ----------------------------------------------------------------------


def late_mistake(meeting):
    """A board, a cell and a length: a move that loses, as late in the game as can be.

    The length is that of a game in which the player makes this move and the other side wins.
    """
    game = meeting.game
    assert meeting.start.nearest is None
    for board in sorted(meeting.decisions, key=lambda board: board.count(".")):
        for cell, place in enumerate(game.place.values()):
            after = game.after(board, place)
            if board[place] != "." or game.wins(after, place):
                continue
            if any(game.wins(game.after(after, reply), reply) for reply in game.free(after)):
                return board, cell, game.cells - board.count(".") + 2
    raise AssertionError("no move loses at once")


def check_late_mistake(player, rules, side, form=None, **options):
    """The losing line of a player with one late mistake is found by the package and plainly.

    form: makes the certified player from the one that makes the mistake.
    """
    form = form or (lambda player: player)
    content = certified(form(player), rules, **options)
    board, cell, length = late_mistake(plain_proof.check(content)[side])
    mistaken = Mistaken(player, parse_board(board, rules), cell)
    again = certified(form(mistaken), rules, **options)
    verify(again)
    assert plain_proof.check(again)[side].start.nearest == length
    line = again[f"as_{side.lower()}"]["losing_line"]
    assert len(line) == length
    others = [line[:-1], [*line, line[-1]], line[::-1], line[1:2] + line[:1] + line[2:], None]
    for wrong in others if rules.cells <= 12 else others[:1]:
        stated = copy.deepcopy(again)
        stated[f"as_{side.lower()}"]["losing_line"] = wrong
        refused_by_both(stated)
    # The moves of one player with the results of the other.
    refused_by_both({**again, "moves": content["moves"]})
    refused_by_both(
        {**content, "moves": again["moves"], "sha256_of_moves": again["sha256_of_moves"]}
    )
    return length


@pytest.mark.parametrize(
    ("sizes", "side", "length"),
    [
        pytest.param((3, 3, 3), "X", 8, marks=pytest.mark.slow),
        ((3, 3, 3), "O", 9),
        ((2, 4, 3), "X", 8),
        ((2, 4, 3), "O", 7),
    ],
)
def test_the_only_losing_line_of_a_player_is_found_however_deep_it_is(sizes, side, length):
    player = make_opponent("minimax-first", Rules(*sizes))
    assert check_late_mistake(player, Rules(*sizes), side) == length


# --- larger boards: the moves in the positions that can be met ------------------------------------

SQUARE, RECTANGLE_15, LARGE = Rules(4, 4, 4), Rules(3, 5, 4), Rules(5, 5, 4)
PLAYERS = {
    "lines": LineCounter,
    "other lines": lambda rules: LineCounter(rules, (1, 4, 16, 100_000), (0, 4, 16, 1_000)),
    "minimax": lambda rules: make_opponent("minimax-first", rules),
    "canonical": lambda rules: CanonicalPolicy(LineCounter(rules), rules),
}
MET = [*((name, SQUARE) for name in PLAYERS), ("canonical", RECTANGLE_15)]
MET += [("other lines", RECTANGLE_15)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rules"), MET, ids=str)
def test_it_agrees_on_boards_of_15_and_16_cells_on_both_sides(name, rules):
    content = certified(PLAYERS[name](rules), rules)
    verify(content)
    assert (content["format"], content["canonical"]) == (2, name == "canonical")
    meetings = plain_proof.check(content)
    assert [one.start.nearest for one in meetings.values()] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["canonical", "lines"])
def test_it_agrees_on_5x5_as_x(name):
    content = certified(PLAYERS[name](LARGE), LARGE, sides=("X",))
    verify(content)
    meetings = plain_proof.check(content)
    assert (list(meetings), meetings["X"].start.nearest) == (["X"], None)
    assert len(meetings["X"].decisions) == content["as_x"]["decisions"] > 25_000


EXAMPLE = '{"X":[[1],[2,0,0]],"O":[[1,0,0,2],[3,2,1,2,0]]}'  # of docs/CERTIFICATE.md


def test_the_example_of_the_documentation_has_the_positions_that_it_states():
    content = {"format": 2, "board": {"rows": 1, "cols": 4, "k": 2}, "canonical": False}
    content["moves"] = base64.b64encode(zlib.compress(EXAMPLE.encode())).decode()
    meetings = plain_proof.meetings_of({**content, "sides": ["X", "O"]})
    x, o = meetings["X"], meetings["O"]
    assert (x.start.value, len(x.known), len(x.decisions)) == (1, 5, 4)
    assert (o.start.nearest, len(o.known), len(o.decisions)) == (3, 14, 9)


@pytest.mark.slow
@pytest.mark.parametrize(("is_canonical", "side"), [(False, "X"), (True, "O")])
def test_the_only_losing_line_on_4x4_is_found_near_the_end_of_the_game(is_canonical, side):
    form = (lambda player: CanonicalPolicy(player, SQUARE)) if is_canonical else None
    player = LineCounter(SQUARE)
    assert check_late_mistake(player, SQUARE, side, form=form, sides=(side,)) >= 14


@pytest.mark.parametrize("rules", [RECTANGLE, Rules(2, 4, 3), Rules(1, 1, 1)], ids=str)
@pytest.mark.parametrize("name", ["stochastic", "random", "minimax", "minimax-first"])
def test_both_formats_state_the_same_results_of_the_same_player(name, rules):
    player = stochastic(rules) if name == "stochastic" else make_opponent(name, rules)
    whole, lines = certified(player, rules), certified(player, rules, lines_only=True)
    verify(lines)
    plain_proof.check(lines)
    for side in ("as_x", "as_o"):
        for name in ("unbeatable", "losing_line", "worst_case_value", "worst_case_loss"):
            assert lines[side][name] == pytest.approx(whole[side][name], abs=1e-12)


# --- changed certificates -------------------------------------------------------------------------


def paths_of(value, path=()):
    if isinstance(value, dict):
        return [found for name, part in value.items() for found in paths_of(part, (*path, name))]
    return [path]


def other(value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 1e-6
    if value == ["X", "O"]:
        return ["X"]
    return ["a1"] if value is None else None


RESULTS = paths_of(certificate.exact_results(RandomPolicy(), RECTANGLE))


@pytest.mark.parametrize("path", RESULTS, ids=".".join)
@pytest.mark.parametrize("agent", ["minimax-first", "random"])
def test_a_wrong_figure_is_refused(agent, path):
    content = certified(make_opponent(agent, RECTANGLE), RECTANGLE)
    *groups, name = path
    group = functools.reduce(lambda found, key: found[key], groups, content)
    group[name] = other(group[name])
    refused_by_both(content)


def without(content, board):
    del content["moves"][board]


def with_move(content, board, move="c3"):
    content["moves"][board] = move


CHANGES = {
    "the first decision is missing": lambda content: without(content, ".../.../..."),
    "a decision that is never met is missing": lambda content: without(content, "XO./XO./..."),
    "a finished board": lambda content: with_move(content, "XXX/OO./..."),
    "a board that play cannot reach": lambda content: with_move(content, "OO./.../..."),
    "no cell": lambda content: with_move(content, ".../.../...", "d1"),
    "a taken cell": lambda content: with_move(content, "X../.../...", "a1"),
    "half a move": lambda content: with_move(content, ".../.../...", {"a1": 0.5}),
    "another board": lambda content: content["board"].update(rows=1, cols=9),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_decisions_than_those_of_the_board_are_refused(change):
    content = certified(make_opponent("minimax-first", Rules()), Rules())
    CHANGES[change](content)
    refused_by_both(sealed(content))


def test_another_digest_and_unknown_entries_are_refused():
    content = certified(make_opponent("minimax-first", Rules()), Rules())
    refused_by_both({**content, "sha256_of_moves": content["sha256_of_moves"][::-1]})
    refused_by_both({**content, "strength": 9})


HOSTILE_ENTRIES = [
    *({"agent": agent} for agent in ("a\n", "\x1b[8m", "", " a", "a  b", "x" * 101, None, ["a"])),
    *({"seed": seed} for seed in (-1, 0.5, "0", True, 2**128)),
    *({"training": {"preset": preset}} for preset in ("a\n", None, 3)),
    *({name: {"a\x1b": 1}} for name in ("config", "training", "versions")),
    *({name: {"a": ["\u202e"]}} for name in ("config", "training", "versions")),
    *({"config": {"a": number}} for number in (float("nan"), float("inf"))),
    {"config": None},
]


@pytest.mark.parametrize("entries", HOSTILE_ENTRIES, ids=repr)
def test_information_that_is_not_safe_to_print_is_refused(entries):
    refused_by_both({**certified(RandomPolicy(), Rules(1, 3, 2)), **entries})


@pytest.mark.parametrize("move", ["B2", " b2", {"B2": 1.0}, {"b2": 1.0, "c3": 0.0}, {"b2": 0.9}])
def test_moves_in_another_spelling_and_shares_of_zero_are_refused(move):
    content = certified(make_opponent("minimax-first", Rules()), Rules())
    with_move(content, "X../.../...", move)
    refused_by_both(sealed(content))


# --- changed certificates of lines ----------------------------------------------------------------


@pytest.fixture(scope="module")
def lines():
    """A certificate of the lines on 2x5, to be copied before it is changed."""
    rules = Rules(2, 5, 4)
    return certified(CanonicalPolicy(LineCounter(rules), rules), rules, lines_only=True)


def with_text(content, change):
    """The content with other moves, and the digest of them."""
    moves = json.loads(plain_proof.text_of(content))
    change(moves)
    text = json.dumps(moves, separators=(",", ":")).encode()
    packed = base64.b64encode(zlib.compress(text)).decode()
    return {**content, "moves": packed, "sha256_of_moves": hashlib.sha256(text).hexdigest()}


def other_cell(moves, side, ply):
    """Change the first decision of a ply to another cell of 10."""
    moves[side][ply][0] = (moves[side][ply][0] + 1) % 10


def move_last(moves):
    moves["X"][1] = moves["X"][1][1:] + moves["X"][1][:1]


CHANGED_LINES = {
    "a later move of X": lambda moves: other_cell(moves, "X", 3),
    "the first move of X": lambda moves: other_cell(moves, "X", 0),
    "a late move of O": lambda moves: other_cell(moves, "O", 4),
    "a missing move": lambda moves: moves["O"][3].pop(),
    "a surplus move": lambda moves: moves["O"][3].append(0),
    "a missing ply": lambda moves: moves["X"].pop(),
    "a surplus ply": lambda moves: moves["O"].append([0]),
    "another order": move_last,
    "no cell": lambda moves: moves["X"][0].__setitem__(0, 10),
    "half a move": lambda moves: moves["X"][0].__setitem__(0, {"5": 0.5}),
    "a missing side": lambda moves: moves.pop("O"),
}


@pytest.mark.parametrize("change", CHANGED_LINES)
def test_other_moves_on_the_lines_are_refused(change, lines):
    refused_by_both(with_text(lines, CHANGED_LINES[change]))
    plain_proof.check(lines)


def test_another_digest_and_damaged_moves_are_refused(lines):
    refused_by_both({**lines, "sha256_of_moves": lines["sha256_of_moves"][::-1]})
    refused_by_both({**lines, "moves": lines["moves"][:-8]})
    refused_by_both({**lines, "moves": "?" + lines["moves"]})


FIGURES = ["unbeatable", "canonical", "as_x.unbeatable", "as_o.always_wins", "as_x.positions"]
FIGURES += ["as_o.decisions", "as_o.worst_case_value", "as_x.worst_case_loss", "as_o.losing_line"]
FIGURES += ["as_x.vs_random.win", "as_x.vs_random.draw", "as_o.vs_random.loss", "sides"]


@pytest.mark.parametrize("path", FIGURES)
def test_a_wrong_figure_on_the_lines_is_refused(path, lines):
    content = copy.deepcopy(lines)
    *groups, name = path.split(".")
    group = functools.reduce(lambda found, key: found[key], groups, content)
    group[name] = other(group[name])
    refused_by_both(content)


# --- forged and hostile files ---------------------------------------------------------------------

TINY = Rules(1, 3, 2)  # X wins in the middle, so the exact loss of perfect play as X is 0


@functools.cache
def tiny(lines_only=False):
    """A certificate of perfect play on 1x3; change a copy only."""
    return certified(make_opponent("minimax-first", TINY), TINY, lines_only=lines_only)


def tiny_with(path, value, lines_only=False):
    """The text of it with another value of an entry, such as "board/rows"."""
    content = copy.deepcopy(tiny(lines_only))
    *groups, name = path.split("/")
    group = functools.reduce(lambda found, key: found.setdefault(key, {}), groups, content)
    group[name] = value
    return json.dumps(sealed(content) if path.startswith("moves") and not lines_only else content)


def tiny_without(name):
    return json.dumps({one: value for one, value in tiny().items() if one != name})


def replaced(text, old, new):
    """The text with another part in place of the first `old`."""
    assert old in text
    return text.replace(old, new, 1)


def tiny_lines(change=lambda text: text, pack=zlib.compress):
    """The text of its lines after a change of the moves' text, in another packing."""
    text = change(plain_proof.text_of(tiny(lines_only=True)).decode()).encode()
    packed = base64.b64encode(pack(text)).decode()
    digest = hashlib.sha256(text).hexdigest()
    return json.dumps({**tiny(lines_only=True), "moves": packed, "sha256_of_moves": digest})


def nested(depth, inner=1):
    return functools.reduce(lambda found, _: {"a": found}, range(depth), inner)


def first_move(decision):
    return lambda text: replaced(text, '{"X":[[1]', f'{{"X":[[{decision}]')


WRONG_ENTRIES = [
    *(("format", number) for number in (True, 1.0, 0, 3, "1", None)),
    *(("board/rows", rows) for rows in (10**9, 3.0, True, 0, -1, "1", None)),
    *(("board", board) for board in ({"rows": 4, "cols": 4, "k": 4}, [1, 3, 2], {"rows": 3})),
    *(("board/k", k) for k in (0, 4)),
    ("board/depth", 1),
    *(("training/" + name, -1) for name in ("seconds", "steps", "games", "entries", "a/steps")),
    *(("training/seconds", seconds) for seconds in ("1", True, None, 2**128)),
    *(("training/" + name, 1) for name in ("best_at", "first_unbeatable", "first_optimal")),
    ("training", None),
    *(("config/a", value) for value in (2**128, nested(20), ["a"] * 10_000, "a" * 100_001)),
    *(("as_x/vs_random/" + name, 1e-13) for name in ("draw", "loss", "illegal")),
    *(("as_x/worst_case_loss", loss) for loss in (1e-13, False, "0", None, [])),
    *(("as_x", side) for side in (3, None, [], {})),
    *(("as_x/unbeatable", value) for value in (1, 1.0)),
    *(("as_o/losing_line", line) for line in (5, "a1", {"b1": 1, "a1": 2, "c1": 3}, ["z9"], [[]])),
    *(("moves", moves) for moves in ([], None, 3, "a1", {})),
    ("moves/XO?", "a1"),
    *(("moves/X.O", move) for move in ({"b1": True}, {"b1": "1"}, 1, None, ["b1"])),
    ("sha256_of_moves", None),
    ("a", 1),
]
WRONG_LINES = [
    *(("canonical", value) for value in (0, 0.0, None, "", [])),
    *(("as_x/decisions", number) for number in (3.0, True)),
    *(("sides", sides) for sides in (3, None, "XO", ["O", "X"], ["X", "X"], {"X": 1, "O": 1})),
    *(("moves", moves) for moves in ({}, [], None, 3, "a", "\u00e9")),
]
FORGERIES = {
    **{f"{path}: {value!r:.40}": (tiny_with, path, value) for path, value in WRONG_ENTRIES},
    **{
        f"lines {path}: {value!r:.40}": (tiny_with, path, value, True)
        for path, value in WRONG_LINES
    },
    **{f"without {name}": (tiny_without, name) for name in tiny() if name != "training"},
    "a result twice": (replaced, json.dumps(tiny()), "{", '{"as_x": {}, '),
    "a position twice": (replaced, json.dumps(tiny()), '"moves": {', '"moves": {"...": "a1", '),
    "a cell twice": (
        replaced,
        tiny_with("moves/...", {"b1": 1.0}),
        '{"b1": 1.0}',
        '{"b1": 1.0, "b1": 1.0}',
    ),
    "lines, a side twice": (tiny_lines, lambda text: replaced(text, "{", '{"X":[[0]],')),
    "lines, a cell twice": (tiny_lines, first_move('{"1":1.0,"1":1.0}')),
    **{
        f"lines, the decision {decision}": (tiny_lines, first_move(decision))
        for decision in ('"1"', "1.0", "true", '{"1":true}', '{"1":"1"}', "null", "[1]", "{}")
    },
    "lines, bytes after the end": (tiny_lines, str, lambda text: zlib.compress(text) + b"\0"),
    "lines, the end is missing": (tiny_lines, str, lambda text: zlib.compress(text)[:-4]),
    "lines, no compression": (tiny_lines, str, bytes),
    "lines, a byte order mark": (tiny_lines, lambda text: "\ufeff" + text),
    "lines, nested": (tiny_lines, lambda text: "[" * 100_000),
    "lines, cut": (tiny_lines, lambda text: text[:-1]),
    "lines, no object": (tiny_lines, lambda text: "3"),
    **{f"the text {text!r}": (str, text) for text in ("", "[]", "{}", "3", "null", '"a"', "NaN")},
    "cut": (lambda: json.dumps(tiny())[:-1],),
    "text after the end": (lambda: json.dumps(tiny()) + "{}",),
    "a byte order mark": (lambda: "\ufeff" + json.dumps(tiny()),),
    "5,000 digits": (replaced, json.dumps(tiny()), '"seed": null', '"seed": ' + "9" * 5_000),
    "an exponent": (replaced, json.dumps(tiny()), '"config": {', '"config": {"a": 1e999'),
    "nested lists": (str, "[" * 100_000),
    "nested objects": (str, '{"a":' * 100_000),
    "no UTF-8": (lambda: "\udcff",),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_or_hostile_file_is_refused_by_both(name, tmp_path):
    forge, *arguments = FORGERIES[name]
    file = tmp_path / "c.json"
    file.write_bytes(forge(*arguments).encode("utf-8", "surrogateescape"))
    with pytest.raises(Refused):
        plain_proof.check(plain_proof.read(file))
    with pytest.raises(CertificateError):
        verify(certificate.read(file))


@pytest.mark.parametrize("lines_only", [False, True])
def test_the_certificate_that_is_forged_is_accepted_by_both(lines_only, tmp_path):
    file = tmp_path / "c.json"
    file.write_text(tiny_lines() if lines_only else json.dumps(tiny()))
    plain_proof.check(plain_proof.read(file))
    verify(certificate.read(file))


def test_information_up_to_the_bounds_is_accepted_by_both():
    config = {"a": nested(18), "b": ["a"] * 9_900, "c": "a" * 100_000, "d": 2**128 - 1}
    content = {**tiny(), "config": config, "training": {"seconds": 0, "best_at": {"steps": 1.5}}}
    verify(content)
    plain_proof.check(content)


def test_a_file_and_moves_above_the_bounds_are_refused_by_both(tmp_path, monkeypatch):
    file = tmp_path / "c.json"
    with file.open("wb") as empty:
        empty.truncate(plain_proof.MOST_BYTES + 1)  # takes no room on the disk
    with pytest.raises(Refused, match="larger than 32 MB"):
        plain_proof.read(file)
    with pytest.raises(CertificateError, match="larger than 32 MB"):
        certificate.read(file)
    with pytest.raises(Refused, match="too many values"):
        plain_proof.json_value(b"[" * (plain_proof.MOST_SIGNS + 1))
    monkeypatch.setattr(plain_proof, "MOST_TEXT", 1 << 20)
    monkeypatch.setattr(lines_module, "MAX_TEXT", 1 << 20)
    bomb = json.loads(tiny_lines(lambda text: text + " " * (1 << 20)))
    with pytest.raises(Refused, match="larger than 1 MB"):
        plain_proof.check(bomb)
    with pytest.raises(CertificateError, match="larger than 1 MB"):
        verify(bomb)


def run_plainly(folder, *names):
    """The program on files in a folder. It must end soon."""
    program = [sys.executable, "-I", "-S", plain_proof.__file__, *names]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        tiny_with("board", {"rows": 4, "cols": 4, "k": 4}),
        tiny_with("board/rows", 10**9),
        tiny_with("as_x/unbeatable", "\n\x1b[8m" + "a" * 10_000),
    ],
    ids="{:.30}".format,
)
def test_the_program_refuses_a_hostile_file_in_one_line(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    done = run_plainly(tmp_path, "c.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("c.json: REFUSED: ")
    assert len(done.stdout.splitlines()) == 1
    assert len(done.stdout) < 400


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_the_program_never_waits_for_a_pipe_and_names_a_missing_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "missing", "."):
        done = run_plainly(tmp_path, name)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout == f"{name}: REFUSED: there is no such file\n"


@pytest.mark.slow
def test_moves_that_would_fill_the_memory_are_refused_in_a_second(tmp_path):
    (tmp_path / "c.json").write_text(tiny_lines(lambda text: " " * (129 << 20)))
    began = time.perf_counter()
    done = run_plainly(tmp_path, "c.json")
    assert time.perf_counter() - began < 1
    assert "the moves are larger than 128 MB" in done.stdout
