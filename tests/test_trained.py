"""The trained agents that the package carries: each one is proven again from its moves."""

import re
from dataclasses import replace

import numpy as np
import pytest
from programs import ROOT, without
from text_cases import refuses

from apps.players.gallery import Gallery
from apps.players.seat import VALUES_FOLDER, board_of
from benchmarks.trained import MOST_CHECKS
from evaluate import main as evaluate_main
from tictactoe_env import Rules, TabularPolicy, evaluate, make_opponent
from tictactoe_env.certificates import certificate
from tictactoe_env.certificates.certificate import table_of, verify
from tictactoe_env.certificates.trained import (
    FOLDER,
    certificate_of,
    facts_of,
    trained_names,
    trained_policy,
)
from tictactoe_env.exact.match import Result
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.opponents.__main__ import main
from training.metrics import GROWTH, read_metrics

AGENTS = {
    *("alphazero", "dqn", "maskable_ppo", "mcts", "neuroevolution"),
    *("tabular_q", "tictacnet", "trie", "value_net"),
}


@pytest.mark.parametrize("name", trained_names())
def test_every_trained_agent_is_what_its_certificate_states(name):
    content = certificate_of(name)
    policy = make_opponent(name, Rules())
    verify(content)
    assert np.array_equal(table_of(content).table, policy.table)
    assert replace(content, moves={}) == facts_of(name)
    results = evaluate(policy)
    proven = {"X": results.unbeatable_x, "O": results.unbeatable_o}
    is_proven = all(proven[side] for side in content.trained)
    assert facts_of(name).verdict().startswith("cannot") == is_proven
    assert name.partition("-")[0] == content.stated.agent
    assert len(content.sha256_of_moves) == 64


GROWN = sorted(path.stem for path in VALUES_FOLDER.glob("*.csv"))
NOT_GROWN = {"value_net-learnbyplay"}  # its command trains another player today


def test_the_growth_of_the_trained_agents_is_there():
    assert {*GROWN} == {*trained_names()} - NOT_GROWN


@pytest.mark.parametrize("name", GROWN)
def test_the_growth_of_a_trained_agent_belongs_to_its_certificate(name):
    rows = read_metrics(VALUES_FOLDER / f"{name}.csv", GROWTH)
    content = certificate_of(name)
    training = content.stated.training
    assert len(rows) <= MOST_CHECKS
    assert rows[-1]["steps"] == training["steps"]
    (certified,) = [row for row in rows if row["steps"] == training["best_at"]["steps"]]
    for side, found in content.results.items():
        assert certified[f"{side.lower()}_loss"] == pytest.approx(found.vs_random.loss, abs=1e-5)
    if "first_unbeatable" in training:
        proven = [f"unbeatable_{side.lower()}" for side in content.trained]
        first = next(row["steps"] for row in rows if all(row[one] for one in proven))
        assert first == training["first_unbeatable"]["steps"]


def test_the_trained_agent_of_4x4_is_what_its_certificate_states():
    rules = Rules(4, 4, 4)
    assert trained_names(rules) == ("alphazero",)
    content = certificate_of("alphazero", rules)
    verify(content)
    assert facts_of("alphazero", rules) == content
    assert evaluate(make_opponent("alphazero", rules)).unbeatable


def test_connect_four_x_has_one_board_and_is_shown_without_a_proof(capsys, monkeypatch):
    name = "connect-four-x"
    rules = Rules(6, 7, 4, gravity=True)
    assert trained_names(rules) == (name,)
    assert board_of([name, "random"]) == rules
    for make in (make_opponent, certificate_of):
        with refuses(name, "6x7", "3x3"):
            make(name, Rules())
    monkeypatch.setattr(certificate, "policy_in", None)  # which takes seconds
    assert evaluate_main([name]) == 0
    assert Gallery([]).entry(name).certificate().claim in capsys.readouterr().out
    (won,) = certificate_of(name).results.values()
    assert (won.always_wins, won.vs_random) == (True, Result(1.0, 0.0, 0.0))


@pytest.mark.slow
def test_connect_four_x_makes_the_moves_that_its_certificate_proves():
    found = certificate_of("connect-four-x")
    rules = found.rules
    policy = verify(found)
    result = sampled_result(policy, make_opponent("search-depth=2", rules), rules, 20, side="X")
    assert result.result.win == 1
    assert (policy.sides, policy.plays_symmetrically) == (("X",), True)
    evaluation = evaluate(policy)
    assert (evaluation.verdict, evaluation.sampled) == ("wins against everybody as X", ("O",))


def test_every_agent_is_there_and_unbeatable_and_all_of_them_are_small():
    assert {*AGENTS, "trie-tophep", "dqn-duel-second"} <= {*trained_names()}
    assert all(facts_of(name).unbeatable for name in AGENTS)
    *small, largest = sorted(path.stat().st_size for path in FOLDER.iterdir())
    assert sum(small) < 300_000
    assert largest < 1_000_000


def test_a_trained_agent_is_an_opponent_on_3x3_only():
    with refuses("trie", "3x3", "3x4"):
        make_opponent("trie", Rules(3, 4, 3))
    assert not isinstance(make_opponent("mcts", Rules(3, 4, 3)), TabularPolicy)
    assert make_opponent("mcts", Rules()) is trained_policy("mcts", Rules())


def test_the_list_shows_every_name_with_its_strength_and_needs_numpy_only():
    program = "from tictactoe_env.opponents.__main__ import main; main([])"
    lines = without("torch stable_baselines3 safetensors", program).splitlines()
    rows = {line.split()[0]: line for line in lines[::-1] if line}
    assert {*trained_names(), "minimax", "search-depth=2", "mcts-playouts=50"} <= set(rows)
    assert rows["trie"].endswith("cannot be beaten")
    assert max(map(len, lines)) <= 80
    assert "cannot be beaten as X" in rows["dqn-duel-first"]


def test_players_that_are_named_are_evaluated_exactly(capsys):
    assert main(["minimax-first", "random"]) == 0
    *_, first, second, third = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == ["minimax-first", "99.48", "80.63"]
    assert second.split()[:3] == ["random", "58.49", "28.81"]
    assert ("cannot be beaten" in first, "can be beaten as X (a1 b1" in second) == (True, True)
    assert third.strip() == "and as O (a1 b1 a2 c1 a3)"
    assert main(["rnadom"]) == 2
    assert "'random'" in capsys.readouterr().err


def test_the_documents_name_the_seeds_that_are_not_0():
    page = (ROOT / "docs/opponents.md").read_text(encoding="utf-8")
    told = {name: int(seed) for name, seed in re.findall(r"`(\w+)` \(seed\s(\d+)\)", page)}
    seeds = {name: facts_of(name).stated.seed for name in trained_names()}
    assert told == {name: seed for name, seed in seeds.items() if seed != 0}
