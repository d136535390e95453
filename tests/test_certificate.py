import functools
import json
import platform
import sys

import gymnasium
import numpy as np
import pytest
from json_certificates import GONE, certified, changed, verified, write_json
from sample_players import random_table
from text_cases import refuses

from tictactoe_env import __version__, plain_proof
from tictactoe_env.certificates import certificate
from tictactoe_env.certificates import stated as stated_module
from tictactoe_env.certificates.certificate import (
    CertificateError,
    certify,
    load_policy,
    read,
)
from tictactoe_env.certificates.trained import certificate_of
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import tabulate
from tictactoe_env.notation import parse_cell
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules

RECTANGLE, ROW = Rules(2, 3, 3), Rules(1, 4, 3)  # draws: both sides have all results


@functools.cache
def stated(name, rules):
    """The certificate of an opponent, not to be changed."""
    return certified(make_opponent(name, rules), name, rules)


@pytest.mark.parametrize("rules", [RECTANGLE, Rules(2, 3, 2)], ids=str)
def test_a_certificate_gives_the_table_back_to_the_bit_and_is_verified(rules, tmp_path):
    table = random_table(rules)
    content = certify(table, "some", seed=3, config={"steps": 10}, training={"seconds": 2})
    (tmp_path / "certificate.json").write_text("old")
    certificate.write(content, tmp_path / "certificate.json")
    assert [file.name for file in tmp_path.iterdir()] == ["certificate.json"]
    text = (tmp_path / "certificate.json").read_text()
    assert text.startswith('{\n "format": 1,\n "agent": "')
    again = read(tmp_path)
    assert again == content == read(tmp_path / "certificate.json")
    about = {"format": 1, "agent": "some", "seed": 3, "config": {"steps": 10}}
    about |= {"board": rules.to_json(), "training": {"seconds": 2}}
    found = json.loads(text)
    assert {key: found[key] for key in about} == about
    assert again.to_json() == found
    certificate.verify(again)
    plain_proof.check(found)
    assert np.array_equal(certificate.table_of(again).table, table.table)
    loaded = load_policy(tmp_path, rules)
    assert (loaded.rules, loaded.table.tolist()) == (rules, table.table.tolist())
    assert again.stated.versions["numpy"] == np.__version__


def test_moves_are_text_and_shares_where_there_is_more_than_one():
    moves = certificate.moves_of(tabulate(MinimaxPolicy(Rules()), Rules()))
    assert len(moves) == 4520
    assert (moves["X../.../..."], moves["XX./OO./..."]) == ("b2", "c1")
    assert moves["X../.O./..X"] == {"b1": 0.25, "a2": 0.25, "c2": 0.25, "b3": 0.25}
    moves = certificate.moves_of(tabulate(RandomPolicy(), Rules(2, 3, 2)))
    assert set(moves["XO./..."]) == {"c1", "a2", "b2", "c2"}


@pytest.mark.parametrize("make", [MinimaxPolicy, random_table])
def test_an_evaluation_has_the_results_of_a_certificate(make):
    found, evaluation = certify(make(RECTANGLE), "test"), evaluate(make(RECTANGLE))
    assert (found.unbeatable, found.optimal) == (evaluation.unbeatable, evaluation.optimal)
    for side, response in evaluation.best_responses.items():
        stated = found.results[side]
        assert stated.vs_random == getattr(evaluation, side.lower())
        assert stated.optimal == getattr(evaluation, f"optimal_{side.lower()}")
        worst = (stated.worst_case_value, stated.worst_case_loss, stated.unbeatable)
        assert worst == (response.value, response.loss, not response.can_lose)
        line = [parse_cell(name, RECTANGLE) for name in stated.losing_line or ()]
        assert line == list(response.losing_line or ())


@pytest.mark.parametrize(
    ("number", "is_newer"), [(4, True), (0, False), (1.0, False), ("3", False)]
)
def test_only_a_format_above_the_known_ones_is_called_newer(number, is_newer):
    with refuses("format", repr(number), error=CertificateError) as told:
        verified({**stated("minimax", ROW), "format": number})
    assert ("newer" in str(told.value)) == is_newer


def test_the_versions_are_those_of_another_process_or_of_what_is_imported(monkeypatch):
    content = certify(RandomPolicy(), "random", ROW, versions={"python": "3.0"})
    assert content.stated.versions == {"python": "3.0"}
    for module in ("torch", "stable_baselines3", "sb3_contrib"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    assert stated_module.package_versions() == {
        "python": platform.python_version(),
        "tictactoe-env": __version__,
        "numpy": np.__version__,
        "gymnasium": gymnasium.__version__,
    }


def test_changed_moves_or_another_digest_are_found(tmp_path):
    content = stated("minimax-first", RECTANGLE)
    wrong = [(f"moves.{board}", "c2") for board in ("X../...", ".../...", "XO./...")]
    assert "c2" not in [content["moves"][path.removeprefix("moves.")] for path, _ in wrong]
    for path, value in (*wrong, *(("sha256_of_moves", digest) for digest in (None, "", "0" * 64))):
        write_json(changed(content, path, value), tmp_path / "certificate.json")
        for ask in (lambda: certificate.verify(read(tmp_path)), lambda: load_policy(tmp_path)):
            with refuses("sha256", error=CertificateError):
                ask()


MOVE = "moves.X../..."
SHARES = (-1, float("nan"), True)
SPELLINGS = ("C2", "")

STATED = ("agent", "seed", "config", "versions", "sha256_of_moves")


@pytest.mark.parametrize(
    ("path", "value", "mentions"),
    [
        *((MOVE, move, [repr(move), "X../..."]) for move in (*SPELLINGS, 4, None)),
        *((MOVE, {move: 1.0}, [repr(move)]) for move in SPELLINGS),
        (MOVE, {"b1": 0.5}, ["X../...", "sum"]),
        *((MOVE, {"b1": share, "c2": 1.0}, ["b1", repr(share)]) for share in SHARES),
        (MOVE, GONE, ["2x3", "positions"]),
        *((name, GONE, [name, "'nothing'"]) for name in STATED),
        ("board.k", GONE, ["board.k"]),
        *((f"{group}elo", 3, [f"{group}elo"]) for group in ("", "board.", "as_x.vs_random.")),
        ("board.rows", 2.0, ["rows", "2.0"]),
    ],
)
def test_a_damaged_certificate_is_refused_with_the_reason(path, value, mentions):
    content = stated("minimax-first", RECTANGLE)
    with refuses(*mentions, error=CertificateError):
        verified(changed(content, path, value))


def test_a_file_that_is_missing_damaged_huge_or_of_another_format_is_refused(tmp_path):
    path = tmp_path / "certificate.json"
    for ask, missing in ((tmp_path, path), (tmp_path / "none.json", tmp_path / "none.json")):
        with refuses(missing, error=FileNotFoundError):
            read(ask)
    (tmp_path / "study" / "seed-03").mkdir(parents=True)
    (tmp_path / "study" / "seed-03" / "certificate.json").touch()
    with refuses(tmp_path / "study" / "seed-03", error=FileNotFoundError):
        read(tmp_path / "study")
    path.write_text('{"format": 1, "unbeatable": false, "unbeatable": true}')
    with refuses(path, "repeated", "unbeatable", error=CertificateError):
        read(path)
    with open(path, "wb") as file:
        file.truncate(certificate.MAX_BYTES + 1)
    with refuses(path, "32 MB", error=CertificateError):
        read(path)


def test_the_verdict_speaks_of_the_side_for_which_an_agent_was_not_trained_too():
    for name, only, games in (("dqn-duel-first", "X", 0), ("dqn-duel-second", "O", 1)):
        found = certificate_of(name)
        assert [found.verdict().count("("), found.verdict(games=False).count("(")] == [games, 0]
        assert found.verdict().endswith(f" beaten as {'XO'[only == 'X']}")
    assert "training" not in certify(RandomPolicy(), "random", Rules(2, 3, 2)).to_json()
