"""The verifier in plain Python: its numbers, and certificates of the package that it accepts.

Those that tests/fuzz/fuzz_certificates.py draws and forges are accepted by both or by none.
"""

import base64
import hashlib
import json
import lzma
import subprocess
import sys
import zlib
from fractions import Fraction
from functools import partial
from math import inf

import pytest
from fuzz import fuzz_certificates as drawn
from hypothesis import settings
from json_certificates import certified, verified
from sample_players import LineCounter
from text_cases import refuses

from tictactoe_env import plain_proof
from tictactoe_env.certificates import certificate
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import CanonicalPolicy
from tictactoe_env.rules import Rules

SMALL = Rules(2, 3, 3)
SQUARE = Rules(4, 4, 4)
slow = partial(pytest.param, marks=pytest.mark.slow)


def accepted(content):
    """What the plain verifier finds of a certificate that the package accepts."""
    verified(content)
    return plain_proof.check(content)


# --- numbers --------------------------------------------------------------------------------------

HALF = {"win": Fraction(737, 1260), "draw": Fraction(8, 63), "loss": Fraction(121, 420)}


def test_the_numbers_of_three_by_three_are_those_that_are_known():
    meetings = accepted(certified(make_opponent("random", Rules()), "test"))
    x, o = (meetings[side].result() for side in "XO")
    swapped = {"win": HALF["loss"], "draw": HALF["draw"], "loss": HALF["win"]}
    for found, exact in ((x, HALF), (o, swapped)):
        assert found == pytest.approx({**exact, "illegal": 0}, rel=1e-15)
    game = meetings["X"].game
    assert (len(game.values), game.value(0)) == (4_520, 0)
    assert [game.most_wins(side)[0] for side in "XO"] == [Fraction(191, 192), Fraction(866, 945)]
    assert (meetings["X"].start.nearest, meetings["O"].start.nearest) == (6, 5)


def test_the_numbers_of_a_player_that_draws_no_moves_are_exact():
    meetings = accepted(certified(make_opponent("maskable_ppo", Rules()), "test", reach_only=True))
    found = [meetings[side].result()["win"] for side in "XO"]
    assert found == [Fraction(191, 192), Fraction(866, 945)]


EXAMPLE = '{"X":[[1],[2,0,0]],"O":[[1,0,0,2],[3,2,1,2,0]]}'  # of the page on the format


def test_the_example_of_the_documentation_has_the_positions_that_it_states():
    content = {"format": 2, "board": {"rows": 1, "cols": 4, "k": 2}, "canonical": False}
    content["moves"] = base64.b64encode(zlib.compress(EXAMPLE.encode())).decode()
    content |= {"as_x": {"positions": 5}, "as_o": {"positions": 14}}
    content["sha256_of_moves"] = hashlib.sha256(EXAMPLE.encode()).hexdigest()
    meetings = plain_proof.meetings_of({**content, "sides": ["X", "O"]})
    x = meetings["X"]
    o = meetings["O"]
    assert (x.always_wins, x.positions, len(x.decisions)) == (True, 5, 4)
    assert (o.start.nearest, o.positions, len(o.decisions)) == (3, 14, 9)


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
        (canonical, Rules(3, 4, 3, gravity=True), True),
        (partial(make_opponent, "random"), Rules(3, 3, 3, gravity=True), True),
        (partial(make_opponent, "minimax-first"), Rules(3, 4, 3, gravity=True), True),
        slow(partial(make_opponent, "search-depth=2"), Rules(4, 5, 4, gravity=True), True),
        slow(canonical, Rules(4, 4, 4, gravity=True), True),
        slow(partial(make_opponent, "minimax"), Rules(), False),
        slow(LineCounter, SQUARE, False),
        slow(canonical, SQUARE, False),
    ],
)
@pytest.mark.parametrize(
    ("reach_only", "most"), [(False, 0), (True, certificate.MOST_IN_TEXT), (True, 0)]
)
def test_a_certificate_is_accepted_by_both(make, rules, is_beaten, reach_only, most, monkeypatch):
    monkeypatch.setattr(certificate, "MOST_IN_TEXT", most)
    meetings = accepted(certified(make(rules), "test", rules, reach_only=reach_only))
    assert any(meeting.start.nearest < inf for meeting in meetings.values()) == is_beaten


@pytest.mark.parametrize("rules", [Rules(6, 6, 3), Rules(4, 8, 3)], ids=str)
def test_a_certificate_of_a_board_of_more_than_32_bits_is_accepted_by_both(rules):
    """X wins in a few moves there, so that it meets few of the positions."""
    player = LineCounter(rules, (1, 12, 100_000, 0), (0, 10, 10_000, 0))
    for policy in (player, CanonicalPolicy(player, rules)):
        assert accepted(certified(policy, "test", rules, sides=("X",)))["X"].always_wins


def bomb(**options):
    """Xz data of 64 MB, as the moves of a certificate."""
    return base64.b85encode(lzma.compress(bytes(64 << 20), **options)).decode()


GREEDY = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]  # takes 512 MB to read


@pytest.mark.parametrize("moves", [bomb(), bomb(filters=GREEDY), "~", "", "\n"], ids=len)
def test_bytes_that_grow_or_need_too_much_memory_are_refused_by_both(moves, monkeypatch):
    monkeypatch.setattr(certificate, "MOST_IN_TEXT", 0)
    content = certified(LineCounter(SMALL), "test", SMALL, reach_only=True)
    assert content["format"] == 3
    content["moves"] = moves
    with refuses("moves", error=certificate.CertificateError):
        verified(content)
    with pytest.raises(plain_proof.Refused):
        plain_proof.check(content)


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
    content = certified(make_opponent("minimax-first", SMALL), "test", SMALL)
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


# --- its limits -----------------------------------------------------------------------------------


def asked(content, monkeypatch, most=plain_proof.MOST_POSITIONS):
    """Why a certificate is refused, and in how many positions moves were made until then."""
    game = type(plain_proof.Game(1, 1, 1))
    number = []
    after = game.after
    with monkeypatch.context() as patch:
        patch.setattr(game, "after", lambda *about: number.append(1) or after(*about))
        with pytest.raises(plain_proof.Refused) as told:
            plain_proof.check(content, most)
    return str(told.value), len(number)


def test_more_positions_than_are_stated_are_not_followed_and_too_many_must_not_be_stated(
    monkeypatch,
):
    content = certified(LineCounter(Rules()), "test", Rules(), reach_only=True)
    x, o = (content[side]["positions"] for side in ("as_x", "as_o"))
    for positions in (1, 20, x // 2):
        content["as_x"]["positions"] = positions
        told, number = asked(content, monkeypatch)
        assert "as X" in told
        assert 0 < number <= positions + len(plain_proof.ENDS)
    content["as_x"]["positions"] = x
    plain_proof.check(content, x + o)
    told, number = asked(content, monkeypatch, x + o - 1)
    assert f"{x + o - 1:,}" in told
    assert number == 0
    content["as_o"]["positions"] = -o  # so that the sum is small
    assert asked(content, monkeypatch)[1] == 0


def test_the_limits_of_a_file_and_its_moves_are_kept(tmp_path, monkeypatch):
    content = certified(LineCounter(SMALL), "test", SMALL, reach_only=True)
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(content))
    size = file.stat().st_size
    signs = sum(file.read_text().count(sign) for sign in ',"[{')
    text = len(zlib.decompress(base64.b64decode(content["moves"])))
    assert text < size
    for name, number in (("MOST_BYTES", size), ("MOST_SIGNS", signs)):
        monkeypatch.setattr(plain_proof, name, number)
        assert plain_proof.read(file) == content
        monkeypatch.setattr(plain_proof, name, number - 1)
        with refuses(f"{number - 1:,}", error=plain_proof.Refused):
            plain_proof.read(file)
        monkeypatch.undo()
    monkeypatch.setattr(plain_proof, "MOST_SIGNS", signs)  # the moves have some too
    with refuses(f"{signs:,}", error=plain_proof.Refused):
        plain_proof.check(content)
    monkeypatch.undo()
    monkeypatch.setattr(plain_proof, "MOST_BYTES", text - 1)
    with refuses(f"{text - 1:,}", error=plain_proof.Refused):
        plain_proof.check(content)


def test_without_memory_it_ends_in_one_line_too(tmp_path, monkeypatch, capsys):
    def check(*_):
        raise MemoryError

    (tmp_path / "a.json").write_text("{}")
    monkeypatch.setattr(plain_proof, "check", check)
    assert plain_proof.main([str(tmp_path / "a.json")]) == 1
    assert "memory" in capsys.readouterr().out
