"""The verifier in plain Python: its numbers; it accepts and refuses what the package does."""

import base64
import copy
import functools
import hashlib
import json
import subprocess
import sys
import zlib
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from oracles import plain_proof
from oracles.plain_proof import Refused
from sample_players import FixedPlayer, LineCounter, random_probs
from text_cases import refuses

from tictactoe_env import certificate
from tictactoe_env import lines as lines_module
from tictactoe_env.canonical import CanonicalPolicy
from tictactoe_env.certificate import CertificateError, certify, verify
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import TabularPolicy
from tictactoe_env.rules import Rules

SMALL, SQUARE = Rules(2, 3, 3), Rules(4, 4, 4)
slow = functools.partial(pytest.param, marks=pytest.mark.slow)


def certified(policy, rules, **options):
    """A certificate as it is read from its file."""
    return json.loads(json.dumps(certify(policy, "test", rules, **options)))


def accepted(content):
    """What the plain verifier finds of a certificate that the package accepts."""
    verify(content)
    return plain_proof.check(content)


# --- numbers --------------------------------------------------------------------------------------

HALF = {"win": Fraction(737, 1260), "draw": Fraction(8, 63), "loss": Fraction(121, 420)}


def test_the_numbers_of_three_by_three_are_those_that_are_known():
    meetings = accepted(certified(make_opponent("random", Rules()), Rules()))
    x, o = (meetings[side].result() for side in "XO")
    assert x == {**HALF, "illegal": 0}
    assert o == {"win": HALF["loss"], "draw": HALF["draw"], "loss": HALF["win"], "illegal": 0}
    perfect = meetings["X"].game.perfect
    assert (len(perfect.values), perfect.value(".../.../...")) == (4_520, 0)
    assert [perfect.limit(side) for side in "XO"] == [Fraction(191, 192), Fraction(866, 945)]
    assert (meetings["X"].start.nearest, meetings["O"].start.nearest) == (6, 5)


@pytest.mark.parametrize(("sizes", "value"), [((2, 3, 2), 1), ((2, 4, 3), 0)])
def test_the_values_of_boards_are_those_that_are_known(sizes, value):
    assert plain_proof.Game(*sizes).perfect.values[plain_proof.Game(*sizes).empty] == value


def test_a_player_that_counts_lines_decides_in_as_many_positions_as_are_known():
    content = certified(LineCounter(Rules()), Rules(), lines_only=True)
    found = {side: len(meeting.decisions) for side, meeting in accepted(content).items()}
    assert found == {"X": 88, "O": 286}


EXAMPLE = '{"X":[[1],[2,0,0]],"O":[[1,0,0,2],[3,2,1,2,0]]}'  # of docs/CERTIFICATE.md


def test_the_example_of_the_documentation_has_the_positions_that_it_states():
    content = {"format": 2, "board": {"rows": 1, "cols": 4, "k": 2}, "canonical": False}
    content["moves"] = base64.b64encode(zlib.compress(EXAMPLE.encode())).decode()
    meetings = plain_proof.meetings_of({**content, "sides": ["X", "O"]})
    x, o = meetings["X"], meetings["O"]
    assert (x.start.value, len(x.known), len(x.decisions)) == (1, 5, 4)
    assert (o.start.nearest, len(o.known), len(o.decisions)) == (3, 14, 9)


# --- certificates that both accept ----------------------------------------------------------------

PLAYERS = {
    "fixed": lambda rules: FixedPlayer(3),
    "lines": LineCounter,
    "canonical": lambda rules: CanonicalPolicy(LineCounter(rules), rules),
    # Arbitrary probabilities, on taken cells too, some of them zero.
    "any": lambda rules: TabularPolicy(rules, random_probs(rules, np.random.default_rng(0), 0.3)),
}


def player(name, rules):
    return PLAYERS[name](rules) if name in PLAYERS else make_opponent(name, rules)


@pytest.mark.parametrize(
    ("name", "rules", "is_beaten"),
    [
        ("maskable_ppo", Rules(), False),
        ("random", Rules(1, 1, 1), True),
        ("random", Rules(2, 3, 1), True),
        ("fixed", Rules(2, 4, 3), True),
        ("any", SMALL, True),
        slow("minimax", Rules(), False),
        slow("lines", SQUARE, False),
        slow("canonical", SQUARE, False),
    ],
)
@pytest.mark.parametrize("lines_only", [False, True])
def test_a_certificate_is_accepted_by_both(name, rules, is_beaten, lines_only):
    meetings = accepted(certified(player(name, rules), rules, lines_only=lines_only))
    assert any(meeting.start.nearest is not None for meeting in meetings.values()) == is_beaten


# --- forged ones, which both refuse ---------------------------------------------------------------


@functools.cache
def known(lines_only=False, name="minimax-first", rules=Rules(1, 3, 2)):  # noqa: B008
    """A certificate; change a copy only. On 1x3 the loss of perfect play as X is exactly 0."""
    return certified(player(name, rules), rules, lines_only=lines_only)


def changed(content, path, value):
    """The text of a certificate with another value of an entry, such as "board/rows"."""
    content = copy.deepcopy(content)
    *groups, name = path.split("/")
    functools.reduce(lambda found, key: found.setdefault(key, {}), groups, content)[name] = value
    if path.startswith("moves") and content["format"] == 1:
        content["sha256_of_moves"] = hashlib.sha256(plain_proof.text_of(content)).hexdigest()
    return json.dumps(content)


def lines_with(text):
    """The certificate of lines with another text of the moves."""
    packed, digest = base64.b64encode(zlib.compress(text.encode())), hashlib.sha256(text.encode())
    moves = {"moves": packed.decode(), "sha256_of_moves": digest.hexdigest()}
    return {**known(True), **moves}


def figures_of(value, path):
    """The path of each number, word and line below an entry, with another value of its kind."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from figures_of(part, f"{path}/{name}")
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, (int, float)):
        yield path, value + (1 if isinstance(value, int) else 1e-6)
    else:
        yield path, ["a1"] if value is None else None


TEXT, MOVES = json.dumps(known()), plain_proof.text_of(known(True)).decode()
FIRST = '{"X":[[1]'  # the first decision of the lines
DEEP = functools.reduce(lambda found, _: [found], range(20), 1)
WRONG = {
    "format": (True, 3, "1"),
    "agent": ("a\n", None),
    "seed": (-1, 2**128),
    "board/rows": (10**9, 3.0, 0),
    "board": ({"rows": 4, "cols": 4, "k": 4}, [1, 3, 2]),
    "training/a/steps": (-1, "1"),
    "config": ({"a\x1b": 1}, {"a": float("nan")}, {"a": DEEP}, {"a": ["a"] * 10_000}),
    "as_x/vs_random/loss": (1e-13,),
    "as_x/worst_case_loss": (1e-13, False),
    "as_x": (None, {}),
    "as_o/losing_line": ("a1", ["z9"], ["b1", "a1", "c1", "a1"]),
    "moves": ([], None),
    "moves/XX.": ("c1",),
    "moves/X.O": (*({"b1": share} for share in (True, 0.5)), "a1", "B1"),
    "sha256_of_moves": (None, known()["sha256_of_moves"][::-1]),
    "a": (1,),
}
WRONG_LINES = {
    "canonical": (True, 0),
    "sides": (["X"], "XO", ["O", "X"]),
    "moves": ([], None, "a", known(True)["moves"][:-8]),
}
WRONG_MOVES = {
    **{
        f"the decision {decision}": MOVES.replace(FIRST, f'{{"X":[[{decision}]', 1)
        for decision in ("0", '"1"', "1.0", "true", '{"1":true}', "{}")
    },
    "a side twice": MOVES.replace("{", '{"X":[[0]],', 1),
    "a surplus move": MOVES.replace(FIRST, '{"X":[[1,1]', 1),
    "a surplus ply": MOVES.replace("]]}", "],[0]]}", 1),
    "a missing ply": MOVES.replace(f"{FIRST},", '{"X":[', 1),
    "nested": "[" * 100_000,
}
TEXTS = {
    "a result twice": TEXT.replace("{", '{"as_x": {}, ', 1),
    "cut": TEXT[:-1],
    "a byte order mark": "\ufeff" + TEXT,
    "an exponent": TEXT.replace('"config": {', '"config": {"a": 1e999', 1),
    "nested lists": "[" * 100_000,
    "no object": "[]",
}


def forgeries():
    """What each forged certificate is called, and its text."""
    for content, wrong in ((known(), WRONG), (known(True), WRONG_LINES)):
        for path, values in wrong.items():
            for value in values:
                yield f"{content['format']} {path}: {value!r:.30}", changed(content, path, value)
    for about in product((False, True), ("random", "minimax-first")):
        content = known(*about, SMALL)
        for name in sorted({*content} & {"unbeatable", "optimal", "as_x", "as_o", "optimal_moves"}):
            for path, value in figures_of(content[name], name):
                yield f"{content['format']} {path} {value}", changed(content, path, value)
    for name, text in WRONG_MOVES.items():
        yield f"lines, {name}", json.dumps(lines_with(text))
    yield from TEXTS.items()


FORGED = dict(forgeries())


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_certificate_is_refused_by_both(name, tmp_path):
    file = tmp_path / "c.json"
    file.write_bytes(FORGED[name].encode("utf-8", "surrogateescape"))
    with pytest.raises(Refused):
        plain_proof.check(plain_proof.read(file))
    with pytest.raises(CertificateError):
        verify(certificate.read(file))


def test_what_is_forged_is_accepted_before():
    for content in (known(), known(True), lines_with(MOVES)):
        accepted(content)


def test_a_file_and_moves_above_the_bounds_are_refused_by_both(tmp_path, monkeypatch):
    file = tmp_path / "c.json"
    with file.open("wb") as empty:
        empty.truncate(plain_proof.MOST_BYTES + 1)  # takes no room on the disk
    monkeypatch.setattr(plain_proof, "MOST_TEXT", 1 << 20)
    monkeypatch.setattr(lines_module, "MAX_TEXT", 1 << 20)
    bomb = lines_with(MOVES + " " * (1 << 20))
    for ours, theirs in (
        (lambda: plain_proof.read(file), lambda: certificate.read(file)),
        (lambda: plain_proof.check(bomb), lambda: verify(bomb)),
    ):
        with refuses("larger", error=Refused):
            ours()
        with refuses("larger", error=CertificateError):
            theirs()
    with refuses("values", error=Refused):
        plain_proof.json_value(b"[" * (plain_proof.MOST_SIGNS + 1))


# --- as a program ---------------------------------------------------------------------------------


def test_as_a_program_it_needs_nothing_but_its_file_and_refuses_in_one_line(tmp_path):
    (tmp_path / "true").write_text(TEXT)
    (tmp_path / "false").write_text(changed(known(), "as_x/unbeatable", "\n\x1b" * 9_000))
    program = [sys.executable, "-I", "-S", plain_proof.__file__]
    for name, code in (("true", 0), ("false", 1), ("missing", 1)):
        done = subprocess.run([*program, name], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.count("\n") == (1 if code else 2)
        assert done.stdout.startswith(f"{name}: REFUSED: " if code else f"{name}: as X wins")
        assert len(done.stdout) < 400
