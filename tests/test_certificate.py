import copy
import hashlib
import json
import os
import re

import numpy as np
import pytest
from plain_game import Player, plain_game

from tictactoe_env import certificate, match
from tictactoe_env.certificate import (
    CertificateError,
    certify,
    exact_results,
    load_policy,
    moves_of,
    perfect_table,
    read,
    table_of,
    verify,
    write,
)
from tictactoe_env.notation import parse_cell
from tictactoe_env.opponents import MinimaxPolicy
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules

RECTANGLE = Rules(2, 3, 3)  # small, and a draw: both sides have all figures
BOARDS = [Rules(3, 3, 3), Rules(2, 3, 2), RECTANGLE]

RATES = ("win", "draw", "loss", "illegal")
OF_A_SIDE = (
    *(("unbeatable",), ("optimal",), ("losing_line",), ("worst_case_value",), ("worst_case_loss",)),
    *(
        (against, rate)
        for against in ("vs_random", "vs_minimax", "limit_vs_random")
        for rate in RATES
    ),
)
FIGURES = (
    ("unbeatable",),
    ("optimal",),
    *((side, *figure) for side in ("as_x", "as_o") for figure in OF_A_SIDE),
    ("optimal_moves", "everywhere"),
    ("optimal_moves", "reachable"),
)


def stochastic(rules, seed=0):
    """Arbitrary probabilities, on taken cells too, some of them zero."""
    rng = np.random.default_rng(seed)
    shape = (len(positions_of(rules).unfinished), rules.cells)
    weights = rng.dirichlet(np.full(rules.cells, 0.3), size=shape[0]) * (rng.random(shape) < 0.6)
    weights[weights.sum(axis=1) == 0, 0] = 1
    return TabularPolicy(rules, weights / weights.sum(axis=1, keepdims=True))


POLICIES = {
    "random": lambda rules: RandomPolicy(),
    "minimax": MinimaxPolicy,
    "minimax-first": lambda rules: MinimaxPolicy(rules, "first"),
    "stochastic": stochastic,
    "always a1": lambda rules: Player(lambda board: {0: 1.0}),
}


@pytest.fixture(scope="module")
def stated():
    """Certificates by board and policy, to be copied before they are changed."""
    return {
        rules: {name: certify(make(rules), name, rules) for name, make in POLICIES.items()}
        for rules in (Rules(), RECTANGLE)
    }


def at(content, path):
    for name in path:
        content = content[name]
    return content


def with_figure(content, path, value):
    changed = copy.deepcopy(content)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def sealed(content):
    """The content with the digest of the moves that it has now."""
    moves = json.dumps(content["moves"], sort_keys=True, separators=(",", ":"))
    return {**content, "sha256_of_moves": hashlib.sha256(moves.encode()).hexdigest()}


# --- round trips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_a_certificate_that_is_written_and_read_gives_the_table_to_the_bit_and_is_verified(
    name, rules, tmp_path
):
    table = tabulate(POLICIES[name](rules), rules)
    content = certify(table, name, seed=3, config={"steps": 10})
    write(content, tmp_path / "certificate.json")
    again = read(tmp_path)
    assert again == content
    assert read(tmp_path / "certificate.json") == content
    verify(again)
    assert table_of(again).rules == rules
    assert np.array_equal(table_of(again).table, table.table)
    assert np.array_equal(load_policy(tmp_path, rules).table, table.table)
    assert os.listdir(tmp_path) == ["certificate.json"]


def test_a_certificate_says_who_made_it_and_with_what():
    content = certify(
        RandomPolicy(), "random", Rules(2, 3, 2), seed=7, config={"a": 1}, seconds=0.5
    )
    assert (
        content["format"],
        content["agent"],
        content["seed"],
        content["config"],
        content["seconds"],
    ) == (1, "random", 7, {"a": 1}, 0.5)
    assert content["board"] == {"rows": 2, "cols": 3, "k": 2}
    assert content["versions"]["numpy"] == np.__version__
    assert certify(RandomPolicy(), "random")["board"] == {"rows": 3, "cols": 3, "k": 3}
    assert certify(RandomPolicy(), "random")["seed"] is None


def test_moves_are_text_and_shares_where_there_is_more_than_one():
    moves = moves_of(tabulate(MinimaxPolicy(Rules()), Rules()))
    assert len(moves) == 4520
    assert moves["X../.../..."] == "b2"
    assert moves["XX./OO./..."] == "c1"
    assert moves["X../.O./..X"] == {"b1": 0.25, "a2": 0.25, "c2": 0.25, "b3": 0.25}
    assert set(moves_of(tabulate(RandomPolicy(), Rules(2, 3, 2)))["XO./..."]) == {
        "c1",
        "a2",
        "b2",
        "c2",
    }


def test_a_written_certificate_replaces_the_old_one_and_leaves_nothing_else(tmp_path):
    for name in ("first", "second"):
        write(certify(RandomPolicy(), name, Rules(2, 3, 2)), tmp_path / "certificate.json")
    assert read(tmp_path)["agent"] == "second"
    assert os.listdir(tmp_path) == ["certificate.json"]


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(tmp_path):
    write(certify(RandomPolicy(), "first", Rules(2, 3, 2)), tmp_path / "certificate.json")
    with pytest.raises(TypeError, match="not JSON serializable"):
        write(
            certify(RandomPolicy(), "second", Rules(2, 3, 2), config={"path": object()}),
            tmp_path / "certificate.json",
        )
    assert read(tmp_path)["agent"] == "first"
    assert os.listdir(tmp_path) == ["certificate.json"]


# --- figures -----------------------------------------------------------------------------------------------------


def test_minimax_is_unbeatable_and_not_at_the_limit():
    found = exact_results(MinimaxPolicy(Rules()))
    assert found["unbeatable"] is True
    assert found["optimal"] is False
    assert found["as_x"]["losing_line"] is None
    assert [round(found[side]["vs_random"]["win"], 6) for side in ("as_x", "as_o")] == [
        0.967811,
        0.777484,
    ]
    assert found["as_x"]["vs_minimax"] == {"win": 0.0, "draw": 1.0, "loss": 0.0, "illegal": 0.0}
    assert round(found["as_x"]["limit_vs_random"]["win"] * 192, 9) == 191
    assert round(found["as_o"]["limit_vs_random"]["win"] * 945, 9) == 866


def test_a_player_at_the_limit_on_both_sides_is_optimal():
    game = plain_game()
    moves = {}
    for side in (1, -1):
        best = game.best_against_uniform(
            side, lambda result: (result[0], -result[2]), never_loses=True
        )
        moves |= {board: cell for board, cell in best.items() if game.mover(board) == side}
    found = exact_results(
        Player(lambda board: {moves[board]: 1} if board in moves else game.uniform(board))
    )
    assert found["optimal"] is True
    assert found["as_x"]["optimal"] is found["as_o"]["optimal"] is True
    assert found["optimal_moves"]["reachable"] == 1


def test_the_losing_line_is_in_the_figures_as_text():
    table = stochastic(Rules())
    for side, worst in match.best_responses(table).items():
        line = exact_results(table)[f"as_{side.lower()}"]["losing_line"]
        assert tuple(parse_cell(name, Rules()) for name in line) == worst.losing_line


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_the_figures_are_those_of_the_match_on_each_side(rules):
    table = stochastic(rules)
    found, agreed = exact_results(table), match.optimal_share(table)
    assert found["optimal_moves"] == {
        "everywhere": agreed.everywhere,
        "reachable": agreed.reachable,
    }
    for side, worst in match.best_responses(table).items():
        stated = found[f"as_{side.lower()}"]
        assert (stated["worst_case_value"], stated["worst_case_loss"], stated["unbeatable"]) == (
            worst.value,
            worst.loss,
            not worst.can_lose,
        )
        for name, result in (
            ("vs_random", match.result_vs_random(side, table)),
            ("vs_minimax", match.exact_result_as(side, table, MinimaxPolicy(rules))),
            ("limit_vs_random", match.best_achievable(rules)[side]),
        ):
            assert stated[name] == (
                None if result is None else {rate: getattr(result, rate) for rate in RATES}
            )
    assert found["as_x"]["worst_case_loss"] != found["as_o"]["worst_case_loss"]


def test_perfect_play_is_minimax_with_random_ties():
    for rules in BOARDS:
        assert np.array_equal(
            perfect_table(rules).table, tabulate(MinimaxPolicy(rules), rules).table
        )


def test_a_side_that_cannot_avoid_losing_has_no_limit():
    found = exact_results(MinimaxPolicy(Rules(2, 3, 2)))
    assert found["as_x"]["optimal"] is True
    assert found["as_o"]["limit_vs_random"] is None
    assert found["as_o"]["optimal"] is found["optimal"] is False


# --- verification ------------------------------------------------------------------------------------------------


def paths_of(value, path=()):
    if isinstance(value, dict):
        return [found for name, part in value.items() for found in paths_of(part, (*path, name))]
    return [path]


def test_the_list_of_figures_below_is_complete():
    assert sorted(paths_of(exact_results(RandomPolicy(), RECTANGLE))) == sorted(FIGURES)


@pytest.mark.parametrize("path", FIGURES, ids=".".join)
@pytest.mark.parametrize("name", ["minimax", "stochastic"])
def test_a_changed_figure_is_found_and_named(name, path, stated):
    content = stated[RECTANGLE][name]
    value = at(content, path)
    if isinstance(value, bool):
        wrong = [not value, None, "yes"]
    elif isinstance(value, float):
        wrong = [value + 1e-9, value - 1e-9, float("nan"), 10**400, str(value), None]
    else:
        wrong = [["a1"], [], None if value else "none"]
    for instead in wrong:
        with pytest.raises(CertificateError, match=f"^{re.escape('.'.join(path))} is "):
            verify(with_figure(content, path, instead))
    missing = copy.deepcopy(content)
    del at(missing, path[:-1])[path[-1]]
    if value is not None:
        with pytest.raises(CertificateError, match=f"^{re.escape('.'.join(path))} is "):
            verify(missing)


@pytest.mark.parametrize(
    "path", [("as_x",), ("as_o", "vs_random"), ("optimal_moves",)], ids=".".join
)
@pytest.mark.parametrize("instead", [None, 1.0, [], "figures"])
def test_a_group_of_figures_that_is_none_is_found(path, instead, stated):
    with pytest.raises(CertificateError, match=f"^{re.escape('.'.join(path))} is "):
        verify(with_figure(stated[RECTANGLE]["minimax"], path, instead))


@pytest.mark.parametrize("board", ["X../...", ".../...", "XO./..X"])
def test_a_changed_move_is_found_by_the_digest(board, stated):
    content = stated[RECTANGLE]["minimax-first"]
    other = next(name for name in ("c1", "b2", "c2") if name != content["moves"][board])
    with pytest.raises(
        CertificateError,
        match=r"^the moves were changed after the certificate was written: their sha256 differs$",
    ):
        verify(with_figure(content, ("moves", board), other))


@pytest.mark.parametrize("digest", [None, "", "0" * 64])
def test_a_changed_digest_is_found(digest, stated):
    with pytest.raises(CertificateError, match="sha256 differs"):
        verify(with_figure(stated[RECTANGLE]["minimax"], ("sha256_of_moves",), digest))


def test_a_changed_move_with_a_new_digest_is_found_by_the_figures_that_follow(stated):
    content = stated[Rules()]["minimax-first"]
    assert content["moves"]["XX./OO./..."] == "c1"
    blunder = sealed(
        with_figure(content, ("moves", "X../.../..."), "a2")
    )  # the corner is answered in the centre or lost
    message = "unbeatable is False when computed from the moves, the certificate says True"
    with pytest.raises(CertificateError, match=f"^{message}$"):
        verify(blunder)


def test_a_changed_share_with_a_new_digest_is_found_too(stated):
    content = stated[Rules()]["random"]
    with pytest.raises(
        CertificateError,
        match=r"as_x\.\S+ is \S+ when computed from the moves, the certificate says ",
    ):
        verify(sealed(with_figure(content, ("moves", ".../.../..."), {"a1": 0.5, "b2": 0.5})))


def test_figures_as_whole_numbers_are_as_good(stated):
    content = stated[Rules()]["minimax"]
    verify(with_figure(content, ("as_x", "vs_minimax", "draw"), 1))


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("rules", [Rules(), RECTANGLE], ids=str)
def test_an_unchanged_certificate_is_verified(name, rules, stated):
    verify(stated[rules][name])


# --- what is no certificate --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c["moves"].pop("X../..."),
            "a certificate for 2x3, 3 in a row needs the moves of {all} positions, this one has {fewer}",
        ),
        (
            lambda c: c["moves"].update({"XX./...": c["moves"].pop("X../...")}),
            "this is not a certificate: ValueError: X moves first",
        ),
        (
            lambda c: c["moves"].update({"XXX/OO.": c["moves"].pop("X../...")}),
            "this is not a certificate: ValueError: probabilities must sum to 1",
        ),
        (
            lambda c: c["moves"].update({"X../...": "e9"}),
            "this is not a certificate: ValueError: a cell of 2x3 is",
        ),
        (
            lambda c: c["moves"].update({"X../...": 4}),
            "this is not a certificate: ValueError: a cell of 2x3 is",
        ),
        (
            lambda c: c["moves"].update({"X../...": None}),
            "this is not a certificate: ValueError: a cell of 2x3 is",
        ),
        (lambda c: c["moves"].update({"X../...": []}), "this is not a certificate: TypeError: "),
        (
            lambda c: c["moves"].update({"X../...": {}}),
            "this is not a certificate: ValueError: probabilities must sum to 1",
        ),
        (
            lambda c: c["moves"].update({"X../...": {"b1": 0.5}}),
            "this is not a certificate: ValueError: probabilities must sum to 1",
        ),
        (
            lambda c: c["moves"].update({"X../...": {"b1": -1, "c1": 2}}),
            "this is not a certificate: ValueError: probabilities must be finite",
        ),
        (
            lambda c: c["moves"].update({"X../...": {"b1": float("nan")}}),
            "this is not a certificate: ValueError: probabilities must be finite",
        ),
        (
            lambda c: c["moves"].update({"X../...": {"b1": 10**400}}),
            "this is not a certificate: OverflowError: ",
        ),
        (
            lambda c: c["moves"].update({"X../...": {"b1": [1]}}),
            "the probability of b1 must be a number such as 0.5, got [1]",
        ),
        (
            lambda c: c["moves"].update({"X../...": {"b1": True}}),
            "the probability of b1 must be a number such as 0.5, got True",
        ),
        (
            lambda c: c["moves"].update({"X../...": {"b1": "1.0"}}),
            "the probability of b1 must be a number such as 0.5, got '1.0'",
        ),
        (
            lambda c: c.update(board={"rows": 2, "cols": 3}),
            "this is not a certificate: KeyError: 'k'",
        ),
        (lambda c: c.update(moves=list(c["moves"].values())), "this is not a certificate: "),
        (lambda c: c.update(moves=3), "this is not a certificate: TypeError: "),
        (lambda c: c.pop("moves"), "this is not a certificate: KeyError: 'moves'"),
        (lambda c: c.pop("board"), "this is not a certificate: KeyError: 'board'"),
        (
            lambda c: c.update(board={"rows": 2, "cols": 3, "k": 3, "depth": 2}),
            "this is not a certificate: TypeError: ",
        ),
        (
            lambda c: c.update(board={"rows": 2.0, "cols": 3, "k": 3}),
            "this is not a certificate: ValueError: rows must be a whole number",
        ),
        (
            lambda c: c.update(board={"rows": 6, "cols": 7, "k": 4}),
            "this is not a certificate: ValueError: a board of 6x7 has too many positions for a certificate",
        ),
        (lambda c: c.update(board=[2, 3, 3]), "this is not a certificate: TypeError: "),
    ],
)
def test_a_damaged_certificate_is_refused_with_the_reason(change, message, stated):
    content = copy.deepcopy(stated[RECTANGLE]["minimax-first"])
    count = len(content["moves"])
    change(content)
    message = message.format(all=count, fewer=count - 1)
    for ask in (table_of, verify):
        with pytest.raises(CertificateError, match=f"^{re.escape(message)}"):
            ask(content)


@pytest.mark.parametrize("content", [None, [], "certificate", 3])
def test_what_is_not_even_a_mapping_is_refused(content):
    with pytest.raises(CertificateError, match=r"^this is not a certificate: "):
        verify(content)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_damaged(share, tmp_path, stated):
    path = tmp_path / "certificate.json"
    write(stated[RECTANGLE]["minimax"], path)
    text = path.read_text()
    path.write_text(text[: int(share * len(text))])
    with pytest.raises(
        CertificateError, match=f"^{re.escape(str(path))} is damaged, it is not JSON: "
    ):
        read(path)


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\xfe\x00",
        b"\x00" * 100,
        b"PK\x03\x04",
        b'{"format": 1,}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"1" * 5000,
    ],
)
def test_a_file_that_is_not_json_is_damaged(damage, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_bytes(damage)
    with pytest.raises(
        CertificateError, match=f"^{re.escape(str(path))} is damaged, it is not JSON: "
    ):
        read(path)


@pytest.mark.parametrize(
    "content",
    ["{}", "[]", "null", "1", '"text"', '{"format": 2}', '{"format": "1"}', '{"format": null}'],
)
def test_json_of_another_format_is_no_certificate(content, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(content)
    with pytest.raises(
        CertificateError, match=f"^{re.escape(str(path))} is not a certificate of format 1$"
    ):
        read(path)


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "certificate.json"
    with open(path, "wb") as file:
        file.truncate(certificate.MAX_BYTES + 1)
    with pytest.raises(
        CertificateError,
        match=f"^{re.escape(str(path))} is larger than 256 MB, so it is no certificate$",
    ):
        read(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    for path, looked_for in (
        (tmp_path, tmp_path / "certificate.json"),
        (tmp_path / "none.json", tmp_path / "none.json"),
    ):
        with pytest.raises(
            FileNotFoundError,
            match=f"^no certificate at {re.escape(str(looked_for))}: expected a run's folder or a certificate.json$",
        ):
            read(path)


def test_a_policy_for_another_board_is_refused(tmp_path):
    write(certify(RandomPolicy(), "random", Rules(2, 3, 2)), tmp_path / "certificate.json")
    with pytest.raises(
        ValueError,
        match=f"^{re.escape(str(tmp_path))} plays on 2x3, 2 in a row, not on 3x3, 3 in a row$",
    ):
        load_policy(tmp_path, Rules())
    assert load_policy(tmp_path).rules == Rules(2, 3, 2)


def test_a_certificate_error_is_an_error_of_the_caller():
    assert issubclass(CertificateError, ValueError)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(superhuman=True), "superhuman belong to no certificate"),
        (
            lambda c: c["as_x"].update(elo=3000),
            "as_x.elo is 'nothing' when computed from the moves, the certificate says 3000",
        ),
        (lambda c: c["as_o"]["vs_random"].update(elo=3000), "as_o.vs_random.elo is 'nothing'"),
        (lambda c: c["as_x"].pop("losing_line"), "the certificate says 'nothing'"),
        (
            lambda c: c.update(unbeatable=int(c["unbeatable"])),
            "unbeatable is (True|False) when computed from the moves, the certificate says (0|1)",
        ),
    ],
)
def test_a_claim_that_does_not_follow_from_the_moves_is_found(change, message):
    content = json.loads(json.dumps(certify(RandomPolicy(), "random", Rules(2, 3, 3))))
    verify(content)
    change(content)
    with pytest.raises(CertificateError, match=message):
        verify(content)


def test_a_name_that_stands_twice_is_found(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text('{"format": 1, "unbeatable": false, "unbeatable": true}')
    with pytest.raises(CertificateError, match="a name stands twice among format, unbeatable"):
        read(path)


def test_changed_moves_are_found_when_a_certificate_becomes_an_opponent(tmp_path):
    content = certify(RandomPolicy(), "random", Rules(2, 3, 3))
    content["moves"][".../..."] = "a1"
    write(content, tmp_path / "certificate.json")
    with pytest.raises(CertificateError, match="their sha256 differs"):
        load_policy(tmp_path)


def test_what_follows_from_the_moves_cannot_be_handed_in():
    with pytest.raises(
        ValueError, match="unbeatable follow from the moves, so they cannot be handed in"
    ):
        certify(RandomPolicy(), "random", Rules(2, 3, 3), unbeatable=True)


def test_a_board_of_more_than_12_cells_cannot_be_certified():
    with pytest.raises(
        ValueError, match=re.escape("at most 12 cells (3x4) can be proven, this one has 16")
    ):
        certify(RandomPolicy(), "random", Rules(4, 4, 4))
