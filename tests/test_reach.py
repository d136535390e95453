"""Certificates of the lines of an agent, and the policy of such a certificate."""

import base64
import json
import zlib
from functools import partial

import numpy as np
import pytest
from json_certificates import verified
from sample_players import LineCounter, random_table
from text_cases import refuses

from tictactoe_env import Rules
from tictactoe_env.certificates import certificate, reach
from tictactoe_env.certificates.certificate import (
    CertificateError,
    certify,
    load_policy,
    policy_in,
    verify,
)
from tictactoe_env.certificates.reach import ReachPolicy, decompressed
from tictactoe_env.exact.proof import BoardReach, Limit, ProofLimitError
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import CanonicalPolicy, RandomPolicy, plays_symmetrically

SQUARE = Rules(4, 4, 4)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A certificate of both sides of 4x4, in canonical positions."""
    player = CanonicalPolicy(LineCounter(SQUARE), SQUARE)
    file = tmp_path_factory.mktemp("lines") / "lines.json"
    certificate.write(certify(player, "lines", SQUARE, seed=3), file)
    return file


def read_json(path):
    return json.loads(path.read_text())


def met(player, side, rules):
    reach = BoardReach({side: player}, side, rules)
    return np.concatenate(
        [reach.rules.to_boards(ply.x, ply.o) for ply in reach.plies if ply.side == side]
    )


def test_the_certificate_of_4x4_is_small_and_states_what_is_proven(path):
    content, found = read_json(path), certificate.read(path)
    assert path.stat().st_size < 100_000
    assert (content["format"], content["agent"], content["seed"]) == (2, "lines", 3)
    assert found.decisions == sum(content[side]["decisions"] for side in ("as_x", "as_o"))
    assert found.verdict() == "cannot be beaten"


FALLING = Rules(3, 4, 3, gravity=True)


@pytest.mark.parametrize("make", [LineCounter, partial(make_opponent, "minimax-first")])
def test_a_byte_says_each_of_many_decisions_and_text_stays_as_it_was(make, tmp_path, monkeypatch):
    """A move without a column, as a LineCounter makes it where pieces fall, remains in text."""
    rules = SQUARE if make is LineCounter else FALLING
    player = CanonicalPolicy(make(rules), rules)
    made = {}
    for number, most in ((3, 0), (2, certificate.MOST_IN_TEXT)):
        monkeypatch.setattr(certificate, "MOST_IN_TEXT", most)
        made[number] = certify(player, "many", rules, reach_only=True)
        certificate.write(made[number], tmp_path / "one")
        monkeypatch.setattr(certificate, "MOST_IN_TEXT", 0)
        read = certificate.read(tmp_path / "one")
        certificate.write(read, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "one").read_bytes()
        assert read.format == number
        for side in ("X", "O"):
            boards = met(player, side, rules)
            assert np.array_equal(verify(read).probs(boards), player.probs(boards))
    assert made[3].results == made[2].results
    for other in (LineCounter(FALLING), RandomPolicy(FALLING)):
        assert certify(other, "other", FALLING, reach_only=True).format == 2


@pytest.mark.parametrize("turned", [0, 5])
def test_the_policy_makes_its_moves_on_all_images_of_its_lines(path, turned):
    player, loaded = CanonicalPolicy(LineCounter(SQUARE), SQUARE), load_policy(path, SQUARE)
    assert isinstance(loaded, ReachPolicy)
    assert plays_symmetrically(loaded)
    for side in ("X", "O"):
        boards = met(player, side, SQUARE)[:, SQUARE.symmetries[turned]]
        assert loaded.knows(boards).all()
        assert np.array_equal(loaded.probs(boards), player.probs(boards))


def test_off_its_lines_every_legal_move_is_equally_likely(path):
    loaded = load_policy(path)
    line, other = loaded.probs(np.zeros((1, 16), np.int8))[0].argmax(), 1
    assert line != other
    boards = np.zeros((3, 16), dtype=np.int8)
    boards[0, [other, 15]] = 1, -1
    boards[1, [line, 15]] = 1, -1
    assert loaded.knows(boards).tolist() == [False, True, True]
    probs = loaded.probs(boards)
    assert np.array_equal(probs[0], RandomPolicy().probs(boards[:1])[0])
    assert sorted(probs[1])[-2:] == [0, 1]
    full = np.array([[1, -1] * 8], dtype=np.int8)
    assert not loaded.knows(full).any()


@pytest.mark.parametrize("given", [{"sides": ("X",)}, {"config": {"side": "X"}}])
def test_a_certificate_of_one_side_says_nothing_of_the_other(given):
    player = LineCounter(SQUARE)
    found = certify(player, "lines", SQUARE, **given)
    content = found.to_json()
    assert content["sides"] == ["X"]
    assert content["unbeatable"] is None
    assert content["as_x"]["unbeatable"] is True
    assert "as_o" not in content
    assert tuple(found.trained) == found.sides == ("X",)
    assert found.verdict() == "cannot be beaten as X; nothing is proven as O"
    policy = verify(found)
    assert policy.sides == ("X",)
    assert policy.knows(met(player, "X", SQUARE)).all()


def test_several_moves_in_a_position_keep_their_probabilities_to_the_bit():
    rules = Rules(2, 4, 3)
    player = random_table(rules)
    loaded = policy_in(certify(player, "some", rules, reach_only=True))
    for side in ("X", "O"):
        boards = met(player, side, rules)
        assert loaded.knows(boards).all()
        assert np.array_equal(loaded.probs(boards), player.probs(boards))


def test_a_proof_that_is_too_large_is_refused_in_writing_and_in_reading(path):
    limit = Limit(positions=1_000)
    for ask in (
        lambda: certify(LineCounter(SQUARE), "lines", SQUARE, limit=limit),
        lambda: load_policy(path, limit=limit),
    ):
        with refuses("1,000 positions", error=ProofLimitError):
            ask()


def test_unknown_sides_are_refused():
    for sides in ((), ("X", "X"), ("x",)):
        with refuses("side", sides):
            certify(RandomPolicy(), "random", Rules(), reach_only=True, sides=sides)
    with refuses("sides"):
        certify(RandomPolicy(), "random", Rules(), sides=("X",))


WRONG = [
    ("moves", 3, "moves text"),
    ("moves", base64.b64encode(zlib.compress(b"{}") + b"more").decode(), "zlib"),
    ("canonical", 1, "canonical"),
    ("sha256_of_moves", "0", "moves sha256"),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
def test_what_is_wrong_in_a_certificate_is_named(path, name, value, words):
    with refuses(*words.split(), error=CertificateError):
        verified({**read_json(path), name: value})


def test_text_that_grows_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(reach, "MAX_TEXT", 1_000)
    with refuses("moves", error=CertificateError):
        decompressed(base64.b64encode(zlib.compress(bytes(2_000))).decode())


def test_a_table_of_all_positions_is_not_made_from_lines(path):
    with refuses("policy_in", error=CertificateError):
        certificate.table_of(certificate.read(path))
    with refuses("4x4", "3x3"):
        load_policy(path, Rules())
