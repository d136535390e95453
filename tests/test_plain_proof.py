"""The verifier in plain Python: its numbers, and certificates of the package that it accepts.

Those that tests/fuzz/fuzz_certificates.py draws and forges are accepted by both or by none.
"""

import base64
import hashlib
import itertools
import json
import subprocess
import sys
import zlib
from fractions import Fraction
from functools import partial

import json_certificates
import pytest
from fuzz import fuzz_certificates as drawn
from hypothesis import settings
from json_certificates import verified
from sample_players import LineCounter

from tictactoe_env import plain_proof
from tictactoe_env.exact.symmetry import CanonicalPolicy
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

SMALL, SQUARE = Rules(2, 3, 3), Rules(4, 4, 4)
slow = partial(pytest.param, marks=pytest.mark.slow)


def certified(policy, rules, **options):
    """A certificate as it is read from its file."""
    return json_certificates.certified(policy, "test", rules, **options)


def accepted(content):
    """What the plain verifier finds of a certificate that the package accepts."""
    verified(content)
    return plain_proof.check(content)


# --- numbers --------------------------------------------------------------------------------------

HALF = {"win": Fraction(737, 1260), "draw": Fraction(8, 63), "loss": Fraction(121, 420)}


def test_the_numbers_of_three_by_three_are_those_that_are_known():
    meetings = accepted(certified(make_opponent("random", Rules()), Rules()))
    x, o = (meetings[side].result() for side in "XO")
    assert x == {**HALF, "illegal": 0}
    assert o == {"win": HALF["loss"], "draw": HALF["draw"], "loss": HALF["win"], "illegal": 0}
    game = meetings["X"].game
    assert (len(game.values), game.value(".../.../...")) == (4_520, 0)
    assert [game.limit(side)["win"] for side in "XO"] == [Fraction(191, 192), Fraction(866, 945)]
    assert (meetings["X"].start.nearest, meetings["O"].start.nearest) == (6, 5)


@pytest.mark.parametrize(("sizes", "value"), [((2, 3, 2), 1), ((2, 4, 3), 0)])
def test_the_values_of_boards_are_those_that_are_known(sizes, value):
    game = plain_proof.Game(*sizes)
    assert game.value(game.empty) == value


def test_the_first_image_of_a_board_is_known_and_has_its_shape():
    assert plain_proof.Game(2, 3, 3).canonical("..X/O..") == "X../..O"
    assert plain_proof.Game(3, 3, 3).canonical("..O/..X/...") == "OX./.../..."


def test_a_player_that_counts_lines_decides_in_as_many_positions_as_are_known():
    content = certified(LineCounter(Rules()), Rules(), lines_only=True)
    found = {side: len(meeting.decisions) for side, meeting in accepted(content).items()}
    assert found == {"X": 88, "O": 286}


EXAMPLE = '{"X":[[1],[2,0,0]],"O":[[1,0,0,2],[3,2,1,2,0]]}'  # of docs/certificates.md


def test_the_example_of_the_documentation_has_the_positions_that_it_states():
    content = {"format": 2, "board": {"rows": 1, "cols": 4, "k": 2}, "canonical": False}
    content["moves"] = base64.b64encode(zlib.compress(EXAMPLE.encode())).decode()
    content["sha256_of_moves"] = hashlib.sha256(EXAMPLE.encode()).hexdigest()
    meetings = plain_proof.meetings_of({**content, "sides": ["X", "O"]})
    x, o = meetings["X"], meetings["O"]
    assert (x.start.value, len(x.known), len(x.decisions)) == (1, 5, 4)
    assert (o.start.nearest, len(o.known), len(o.decisions)) == (3, 14, 9)


# --- certificates of the package ------------------------------------------------------------------


def canonical(rules):
    return CanonicalPolicy(LineCounter(rules), rules)


@pytest.mark.parametrize(
    ("make", "rules", "is_beaten"),
    [
        (partial(make_opponent, "maskable_ppo"), Rules(), False),
        (partial(make_opponent, "random"), Rules(1, 1, 1), True),
        (partial(make_opponent, "random"), Rules(2, 3, 1), True),
        (LineCounter, Rules(2, 4, 3), False),
        (canonical, Rules(2, 4, 3), False),
        slow(partial(make_opponent, "minimax"), Rules(), False),
        slow(LineCounter, SQUARE, False),
        slow(canonical, SQUARE, False),
    ],
)
@pytest.mark.parametrize("lines_only", [False, True])
def test_a_certificate_is_accepted_by_both(make, rules, is_beaten, lines_only):
    meetings = accepted(certified(make(rules), rules, lines_only=lines_only))
    assert any(meeting.start.nearest is not None for meeting in meetings.values()) == is_beaten


@pytest.mark.parametrize("rules", [Rules(6, 6, 3), Rules(4, 8, 3)], ids=str)
def test_a_certificate_of_a_board_of_more_than_32_bits_is_accepted_by_both(rules):
    """X wins in a few moves there, so that it meets few of the positions."""
    player = LineCounter(rules, (1, 12, 100_000, 0), (0, 10, 10_000, 0))
    for policy in (player, CanonicalPolicy(player, rules)):
        assert accepted(certified(policy, rules, sides=("X",)))["X"].start.value == 1


few = settings(max_examples=25)
test_drawn_certificates_are_accepted_by_both = few(
    drawn.test_a_drawn_certificate_is_accepted_by_both
)
test_forged_certificates_are_accepted_by_both_or_by_none = few(
    drawn.test_a_forged_or_damaged_certificate_is_accepted_by_both_or_by_none
)


# --- as a program ---------------------------------------------------------------------------------


def test_as_a_program_it_needs_nothing_but_its_file_and_refuses_in_one_line(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    content = certified(make_opponent("minimax-first", SMALL), SMALL)
    (tmp_path / "true").write_text(json.dumps(content))
    (tmp_path / "false").write_text(json.dumps({**content, "unbeatable": "\n\x1b" * 9_000}))
    (tmp_path / "damaged").write_text("{")
    for name, code in (("true", 0), ("false", 1), ("damaged", 1), ("missing", 1)):
        assert plain_proof.main([name]) == code
        said = capsys.readouterr().out
        assert said.count("\n") == (1 if code else 2)
        assert said.startswith(f"{name}: REFUSED: " if code else f"{name}: as X ")
        assert len(said) < 400
    program = [sys.executable, "-I", "-S", plain_proof.__file__, "true"]
    assert b"as O" in subprocess.check_output(program)


@pytest.mark.parametrize("lines_only", [False, True])
def test_both_accept_any_shortest_lost_game_and_no_other(lines_only):
    content = certified(RandomPolicy(), Rules(2, 3, 2), lines_only=lines_only)
    found = []
    for cells in itertools.permutations(content["as_x"]["losing_line"]):
        content["as_x"]["losing_line"] = list(cells)
        package, plainly = drawn.verdicts(json.dumps(content).encode())
        assert (package is None) == (plainly is None)
        found.append(package is None)
    assert 1 < sum(found) < len(found)
