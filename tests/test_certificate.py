import copy
import functools
import hashlib
import json
import platform
import sys
from dataclasses import asdict

import numpy as np
import pytest
from json_certificates import certified, verified, write_json
from oracles.plain_game import Player
from sample_players import FixedPlayer, best_player, random_probs
from text_cases import refuses

from tictactoe_env import plain_proof
from tictactoe_env.certificates import certificate
from tictactoe_env.certificates import stated as stated_module
from tictactoe_env.certificates.certificate import (
    CertificateError,
    certify,
    load_policy,
    read,
)
from tictactoe_env.certificates.content import Rates
from tictactoe_env.exact import match
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.notation import parse_cell
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.trained.packed import certificate_of

RECTANGLE, ROW = Rules(2, 3, 3), Rules(1, 4, 3)  # draws: both sides have all results
BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), RECTANGLE]


def paths_of(value, path=()):
    if isinstance(value, dict):
        return [found for name, part in value.items() for found in paths_of(part, (*path, name))]
    return [".".join(path)]


RESULTS = [
    path
    for path in paths_of(certified(RandomPolicy(), "random", RECTANGLE))
    if path.startswith(("unbeatable", "optimal", "as_"))
]
GONE = object()


def stochastic(rules):
    """Arbitrary probabilities, on taken cells too, some of them zero."""
    return TabularPolicy(rules, random_probs(rules, np.random.default_rng(0), 0.3))


POLICIES = {
    "random": lambda rules: RandomPolicy(),
    "minimax": MinimaxPolicy,
    "minimax-first": lambda rules: MinimaxPolicy(rules, "first"),
    "stochastic": stochastic,
    "always a1": lambda rules: Player(lambda board: {0: 1.0}),
    "best": best_player,
}


@pytest.fixture(scope="module")
def stated():
    """Certificates by board and policy, to be copied before they are changed."""
    made = {Rules(): ("minimax", "minimax-first"), RECTANGLE: POLICIES, ROW: POLICIES}
    return {
        rules: {name: certified(POLICIES[name](rules), name, rules) for name in names}
        for rules, names in made.items()
    }


def changed(content, path, value):
    """A copy with another value at the end of a path such as "as_x.optimal", or without it."""
    content = copy.deepcopy(content)
    *groups, name = path.split(".", 1 if path.startswith("moves.") else -1)
    group = functools.reduce(lambda found, key: found[key], groups, content)
    group[name] = value
    if value is GONE:
        del group[name]
    return content


def sealed(content):
    """The content with the digest of the moves that it has now."""
    moves = json.dumps(content["moves"], sort_keys=True, separators=(",", ":"))
    return {**content, "sha256_of_moves": hashlib.sha256(moves.encode()).hexdigest()}


CASES = [(name, RECTANGLE) for name in POLICIES]
CASES += [("random", Rules(2, 3, 2)), ("stochastic", Rules(2, 3, 2))]


@pytest.mark.parametrize(("name", "rules"), CASES, ids=str)
def test_a_certificate_gives_the_table_back_to_the_bit_and_is_verified(name, rules, tmp_path):
    table = tabulate(POLICIES[name](rules), rules)
    content = certify(table, name, seed=3, config={"steps": 10}, training={"seconds": 2})
    (tmp_path / "certificate.json").write_text("old")
    certificate.write(content, tmp_path / "certificate.json")
    assert [file.name for file in tmp_path.iterdir()] == ["certificate.json"]
    text = (tmp_path / "certificate.json").read_text()
    assert text.startswith('{\n "format": 1,\n "agent": "')
    again = read(tmp_path)
    assert again == content == read(tmp_path / "certificate.json")
    about = {"format": 1, "agent": name, "seed": 3, "config": {"steps": 10}}
    about |= {"board": asdict(rules), "training": {"seconds": 2}}
    found = json.loads(text)
    assert {key: found[key] for key in about} == about
    assert again.to_json() == found
    certificate.verify(again)
    plain_proof.check(found)
    assert np.array_equal(certificate.table_of(again).table, table.table)
    loaded = load_policy(tmp_path, rules)
    assert (loaded.rules, loaded.table.tolist()) == (rules, table.table.tolist())
    assert again.stated.versions["numpy"] == np.__version__


def test_a_board_of_12_cells_has_a_certificate_of_all_positions_and_one_of_13_of_lines(tmp_path):
    for cols, number in ((12, 1), (13, 2)):
        told = []
        asked = {"progress": lambda *about, told=told: told.append(about)}
        content = certify(FixedPlayer(0), "fixed", Rules(1, cols, 1), **asked)
        assert content.to_json()["format"] == number
        certificate.write(content, tmp_path / "certificate.json")
        calls = [len(told)]
        for ask, given in ((certificate.verify, content), (load_policy, tmp_path)):
            ask(given, **asked)
            calls.append(len(told))
        once = 2 if number == 2 else 0  # progress is that of finding positions, here of a ply each
        assert calls == [once, 2 * once, 3 * once]


def test_moves_are_text_and_shares_where_there_is_more_than_one():
    moves = certificate.moves_of(tabulate(MinimaxPolicy(Rules()), Rules()))
    assert len(moves) == 4520
    assert (moves["X../.../..."], moves["XX./OO./..."]) == ("b2", "c1")
    assert moves["X../.O./..X"] == {"b1": 0.25, "a2": 0.25, "c2": 0.25, "b3": 0.25}
    moves = certificate.moves_of(tabulate(RandomPolicy(), Rules(2, 3, 2)))
    assert set(moves["XO./..."]) == {"c1", "a2", "b2", "c2"}


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_an_evaluation_has_the_results_of_a_certificate(name, rules):
    table = tabulate(POLICIES[name](rules), rules)
    found, evaluation = certify(table, name), evaluate(table)
    assert (found.unbeatable, found.optimal) == (evaluation.unbeatable, evaluation.optimal)
    for side, response in evaluation.best_responses.items():
        stated = found.results[side]
        worst = (stated.worst_case_value, stated.worst_case_loss)
        assert worst == (response.value, response.loss)
        line = tuple(parse_cell(name, rules) for name in stated.losing_line or ())
        assert line == (response.losing_line or ())
        result, *proven = (
            getattr(evaluation, f"{what}{side.lower()}") for what in ("", "unbeatable_", "optimal_")
        )
        assert [stated.unbeatable, stated.optimal] == proven
        assert stated.vs_random == Rates.of(result)


@pytest.mark.parametrize("path", [*RESULTS, "as_x", "as_o.vs_random", "optimal_moves"])
@pytest.mark.parametrize("name", ["minimax", "stochastic"])
def test_a_changed_result_is_found_and_named(name, path, stated):
    value = functools.reduce(lambda found, key: found[key], path.split("."), stated[ROW][name])
    if isinstance(value, bool):
        wrong = [not value, int(value), None, "yes", GONE]
    elif isinstance(value, float):
        wrong = [value + 1e-9, value - 1e-9, float("nan"), 10**400, str(value), None, GONE]
    elif isinstance(value, dict):
        wrong = [None, 1.0, [], "figures", GONE]
    else:
        wrong = [["a1"], [], GONE, None if value else "none"]
    for instead in wrong:
        shown = "'nothing'" if instead is GONE else ""
        with refuses(path.rpartition(".")[2], shown, error=CertificateError):
            verified(changed(stated[ROW][name], path, instead))


@pytest.mark.parametrize(
    ("number", "is_newer"), [(3, True), (0, False), (1.0, False), ("3", False)]
)
def test_only_a_format_above_the_known_ones_is_called_newer(number, is_newer, stated):
    with refuses("format", repr(number), error=CertificateError) as told:
        verified({**stated[ROW]["minimax"], "format": number})
    assert ("newer" in str(told.value)) == is_newer


def test_the_versions_of_another_process_can_be_stated():
    content = certify(RandomPolicy(), "random", ROW, versions={"python": "3.0"})
    assert content.stated.versions == {"python": "3.0"}


@pytest.mark.parametrize("missing", [None, "tictactoe-env", "numpy"])
def test_the_versions_are_those_of_the_packages_that_are_imported_and_installed(
    missing, monkeypatch
):
    def version(package):
        if package == missing:
            raise stated_module.metadata.PackageNotFoundError
        return f"{package} 1.2.3"

    monkeypatch.setattr(stated_module.metadata, "version", version)
    for module in ("stable_baselines3", "sb3_contrib"):
        monkeypatch.setitem(sys.modules, module, None)  # as if it were imported
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    names = {"tictactoe-env", "numpy", "gymnasium", "stable-baselines3", "sb3-contrib"} - {missing}
    expected = {name: f"{name} 1.2.3" for name in names}
    assert stated_module.package_versions() == {"python": platform.python_version(), **expected}


def test_the_rounding_of_a_result_ends_where_it_is_stated(stated):
    content = stated[RECTANGLE]["random"]
    value = content["as_x"]["vs_random"]["win"]
    assert 0 < value < 1
    for near in (value - match.ROUNDING, value + match.ROUNDING):
        verified(changed(content, "as_x.vs_random.win", near))
    for path in ("worst_case_value", "limit_vs_random.loss"):  # these are no sums of chances
        verified(changed(stated[ROW]["minimax"], f"as_x.{path}", 1e-13))  # for 0
    with refuses("as_x.worst_case_loss", 0.0, error=CertificateError):
        verified(changed(stated[ROW]["minimax"], "as_x.worst_case_loss", 1e-13))
    for far in (value - 2 * match.ROUNDING, value + 2 * match.ROUNDING):
        with refuses("as_x.vs_random.win", error=CertificateError):
            verified(changed(content, "as_x.vs_random.win", far))


def test_changed_moves_or_another_digest_are_found(stated, tmp_path):
    content = stated[RECTANGLE]["minimax-first"]
    wrong = [(f"moves.{board}", "c2") for board in ("X../...", ".../...", "XO./...")]
    assert "c2" not in [content["moves"][path.removeprefix("moves.")] for path, _ in wrong]
    for path, value in (*wrong, *(("sha256_of_moves", digest) for digest in (None, "", "0" * 64))):
        write_json(changed(content, path, value), tmp_path / "certificate.json")
        for ask in (lambda: certificate.verify(read(tmp_path)), lambda: load_policy(tmp_path)):
            with refuses("sha256", error=CertificateError):
                ask()


def test_results_and_names_that_do_not_follow_from_the_moves_are_found(stated):
    # The corner must be answered in the centre.
    blunder = changed(stated[Rules()]["minimax-first"], "moves.X../.../...", "a2")
    with refuses("unbeatable", False, True, error=CertificateError):
        verified(sealed(blunder))
    shares = changed(stated[RECTANGLE]["random"], "moves..../...", {"a1": 0.5, "b2": 0.5})
    with refuses("optimal_moves", error=CertificateError):
        verified(sealed(shares))
    with refuses("elo", error=CertificateError):
        verified(changed(stated[RECTANGLE]["random"], "elo", 3))
    for path in ("as_x.elo", "as_o.vs_random.elo"):
        with refuses(path, error=CertificateError):
            verified(changed(stated[RECTANGLE]["random"], path, 3))
    verified(changed(stated[Rules()]["minimax"], "as_x.vs_minimax.draw", 1))  # for 1.0


MOVE = "moves.X../..."
SHARES = (0, 0.0, 1e-400, -1, 1.5, float("nan"), float("inf"), True, "1.0", [1], None)
SPELLINGS = ("e9", "C2", " c2", "c2 ", "c02", "\uff432", "c\uff12", "", "c3", "2")

STATED = ("agent", "seed", "config", "versions", "sha256_of_moves")


@pytest.mark.parametrize(
    ("path", "value", "mentions"),
    [
        *((MOVE, move, [repr(move), "X../..."]) for move in (*SPELLINGS, 4, None)),
        *((MOVE, {move: 1.0}, [repr(move)]) for move in SPELLINGS),
        (MOVE, {"c2": 0.9, "C2": 0.0, "b2": 1.0}, ["'C2'"]),
        *((MOVE, move, ["X../...", "sum"]) for move in ({}, {"b1": 0.5})),
        (MOVE, {"b1": 1, "c1": 1e-11}, ["1.00000000001"]),
        *((MOVE, {"b1": share, "c2": 1.0}, ["b1", repr(share)]) for share in SHARES),
        (MOVE, {"b1": 10**400}, ["b1", "1000000000000"]),
        (MOVE, [], ["X../..."]),
        (MOVE, GONE, ["2x3", "positions"]),
        *((name, GONE, [name, "'nothing'"]) for name in STATED),
        ("moves", 3, ["object"]),
        ("moves", GONE, ["moves"]),
        ("board", GONE, ["board"]),
        ("board", [2, 3, 3], ["board"]),
        ("board.k", GONE, ["board.k"]),
        ("board.depth", 2, ["depth"]),
        ("board.rows", 2.0, ["rows", "2.0"]),
        ("board.rows", 6, ["6x3"]),
    ],
)
def test_a_damaged_certificate_is_refused_with_the_reason(path, value, mentions, stated):
    content = stated[RECTANGLE]["minimax-first"]
    with refuses(*mentions, error=CertificateError):
        verified(changed(content, path, value))


def test_moves_on_other_boards_than_the_unfinished_ones_are_refused(stated):
    content = stated[RECTANGLE]["minimax-first"]
    for board in ("XX./...", "XXX/OO."):
        moves = {**content["moves"], board: content["moves"]["X../..."]}
        del moves["X../..."]
        with refuses(board, error=CertificateError):
            verified({**content, "moves": moves})


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
    for number in ("1e999", "NaN", "-Infinity"):
        path.write_text(f'{{"format": 1, "seconds": {number}}}')
        with refuses(path, number, error=CertificateError):
            read(path)
    for content in ("", "{", "{}", "[]", "1", '{"format": 3}', "[" * 100_000):
        path.write_text(content)
        with refuses(path, error=CertificateError):
            read(path)
    with open(path, "wb") as file:
        file.truncate(certificate.MAX_BYTES + 1)
    with refuses(path, "32 MB", error=CertificateError):
        read(path)


def test_what_cannot_be_certified_or_loaded_is_refused(tmp_path, stated):
    write_json(stated[RECTANGLE]["random"], tmp_path / "certificate.json")
    assert load_policy(tmp_path).rules == RECTANGLE
    with refuses(tmp_path, "2x3", "3x3"):
        load_policy(tmp_path, Rules())
    with refuses("unbeatable", error=TypeError):
        certify(RandomPolicy(), "random", Rules(2, 3, 3), unbeatable=True)


def test_the_verdict_speaks_of_the_side_for_which_an_agent_was_not_trained_too():
    for name, only, games in (("dqn-duel-first", "X", 0), ("dqn-duel-second", "O", 1)):
        found = certificate_of(name)
        assert [found.verdict().count("("), found.verdict(games=False).count("(")] == [games, 0]
        assert found.verdict().endswith(f" beaten as {'XO'[only == 'X']}")
    assert "training" not in certify(RandomPolicy(), "random", Rules(2, 3, 2)).to_json()
