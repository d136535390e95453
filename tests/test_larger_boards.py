"""Training on boards of more than 12 cells, on which networks play without a table of positions."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from learners import BOARDS
from sample_players import random_boards
from small_runs import config_of, metrics
from text_cases import refuses

import agents
import evaluate as program
import train
from apps.players.seat import seat_of
from apps.terminal.progress import describe
from tictactoe_env.certificates.certificate import load_policy, read, verify
from tictactoe_env.exact.evaluation import evaluate, evaluate_or_sample
from tictactoe_env.exact.positions import TABULATED
from tictactoe_env.exact.proof import Limit, reach_of
from tictactoe_env.policy import GreedyPolicy, RandomPolicy
from tictactoe_env.rules import Rules
from training.goals import check_goal
from training.options import larger_defaults

SQUARE = Rules(4, 4, 4)
WON = Rules(3, 4, 3)
GAMES = (
    "--rows 4 --cols 4 --k 4 --num-envs 16 --hidden 8 --exploring-starts 0 --judge-every 256 "
    "--opponents self:0.7,random:0.3 --snapshot-every 128"
)
OPTIONS = {
    "dqn": f"{GAMES} --batch-size 16 --learning-starts 32",
    "maskable_ppo": f"{GAMES} --batch-size 64 --rollout-steps 8",
    "alphazero": "--rows 4 --cols 4 --k 4 --games 16 --hidden 8 --self-play-simulations 4 "
    "--updates 4 --judge-every 64",
}
NETWORKS = pytest.mark.parametrize("agent", list(OPTIONS))
WITH_TABLES = [a for a in agents.TRAINABLE if agents.module(a).Config.CELLS == TABULATED]


# --- the limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", WITH_TABLES)
def test_an_agent_with_a_table_of_all_positions_refuses_a_larger_board(agent):
    with refuses(12, "4x4", "maskable_ppo"):
        agents.module(agent).Config(rows=4, cols=4, k=4)


@NETWORKS
@pytest.mark.parametrize("gravity", [False, True])
def test_larger_boards_have_defaults_of_their_own(agent, gravity):
    module = agents.module(agent)
    larger = larger_defaults(module.Config, gravity)
    assert larger["judge_every"] > module.Config().judge_every
    board = {"rows": 4, "cols": 4, "k": 4, "gravity": gravity}
    large = train.experiment_of(module, {**board, "judge_every": 1_000}).config
    assert {name: getattr(large, name) for name in larger} == {**larger, "judge_every": 1_000}


# --- the players ----------------------------------------------------------------------------------


OPENS = {"symmetry": False, "opening": "random"}


@pytest.mark.parametrize(
    ("agent", "options"), [*((a, {}) for a in OPTIONS), ("dqn", OPENS), ("maskable_ppo", OPENS)]
)
def test_a_network_moves_alike_whatever_boards_are_asked_with_it_and_on_images(agent, options):
    module = agents.module(agent)
    config = config_of(agent, OPTIONS[agent].split()).replace(**options)
    player = module.begin(config).policy()
    boards = random_boards(SQUARE, 100)
    probs = player.probs(boards)
    assert np.array_equal(probs, np.concatenate([player.probs(board[None]) for board in boards]))
    assert (probs[1:].max(axis=1) == 1).all()
    assert (probs[0] == 1 / 16).all() == bool(options)
    if not options:
        images = boards[:, SQUARE.symmetries]  # (B, 8, cells)
        own = np.array([len(np.unique(each, axis=0)) == 8 for each in images])  # all different
        for number, cells in enumerate(SQUARE.symmetries):
            assert np.array_equal(player.probs(images[own, number]), probs[own][:, cells])


def test_live_values_are_those_of_the_table_on_small_boards(monkeypatch):
    """The same network, asked for single boards and for all positions of 3x3."""
    module = agents.module("dqn")
    config = config_of("dqn", OPTIONS["dqn"].split()).replace(rows=3, cols=3, k=3)
    model = module.begin(config).model()
    table = module.player(config, model).own
    monkeypatch.setattr(module, "TABULATED", 0)
    live = module.player(config, model)
    found = np.where(BOARDS == 0, live.q_values(BOARDS), np.nan)
    assert np.allclose(found, table.values, atol=1e-5, equal_nan=True)
    assert (live.meaning, *live.scale) == table.scale


# --- the training ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_charts")
def test_a_training_writes_its_run_and_a_certificate_that_verifies(tmp_path):
    """A saved run moves as its certificate states on its lines, elsewhere as its model."""
    folder = tmp_path / "run"
    boards = random_boards(SQUARE, 100)
    assert train.main(["dqn", *OPTIONS["dqn"].split(), "--steps", "256", "--out", str(folder)]) == 0
    assert not (folder / "values.npz").exists()
    assert program.main([str(folder), "--from-model"]) == 0
    content = read(folder)
    verify(content)
    assert evaluate(agents.load(folder)).x.win == content.results["X"].vs_random.win
    assert {row["sampled_x"] + row["sampled_o"] for row in metrics(folder)} == {"00"}
    seat = seat_of(str(folder), SQUARE)
    lines = load_policy(folder)
    known = lines.knows(boards)
    assert set(known) == {True, False}
    probs = np.where(known[:, None], lines.probs(boards), agents.load(folder).probs(boards))
    assert np.array_equal(seat.policy.probs(boards), probs)
    assert seat.kinds == ("own",)
    (folder / "model.safetensors").unlink()
    assert np.array_equal(seat_of(str(folder), SQUARE).policy.probs(boards), lines.probs(boards))


@pytest.mark.usefixtures("no_charts")
def test_a_side_beyond_the_limit_is_sampled_and_a_run_without_a_proof_has_no_certificate(
    tmp_path, capsys
):
    player = GreedyPolicy(RandomPolicy())
    player.rules = SQUARE
    x, o = (len(reach_of({side: player}, side, SQUARE)) for side in "XO")
    assert x < o
    exact = evaluate_or_sample(player, SQUARE)
    cut = evaluate_or_sample(player, SQUARE, limit=Limit(x))
    assert (exact.sampled, cut.sampled, cut.x) == ((), ("O",), exact.x)
    assert cut.o.value == pytest.approx(exact.o.value, abs=0.1)
    assert describe(cut).count("sampled") == 1
    folder = tmp_path / "run"
    options = ["--steps", "256", "--proof-positions", "100", "--out", str(folder)]
    assert train.main(["maskable_ppo", *OPTIONS["maskable_ppo"].split(), *options]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "no certificate: the best model can meet more than 100 positions" in printed
    assert f"look: python evaluate.py {folder}" in printed
    assert not (folder / "certificate.json").exists()
    assert [row["sampled_x"] for row in metrics(folder)] == ["1"]
    results = tmp_path / "results.json"
    limits = ["--max-positions", "100", "--games", "5", "--json", str(results)]
    assert program.main([str(folder), "search-depth=1", *limits]) == 0
    found = json.loads(results.read_text())
    assert (found["agents"], list(found["accuracy"])) == ({}, ["run", "search-depth=1"])
    seat = seat_of(str(folder), SQUARE)
    boards = random_boards(SQUARE, 100)
    assert np.array_equal(seat.policy.probs(boards), agents.load(folder).probs(boards))
    with refuses("4x4", "5x5"):
        seat_of(str(folder), Rules(5, 5, 4))
    (folder / "model.safetensors").unlink()  # as before its first evaluation
    assert program.main([str(folder)]) == 1
    assert "no model yet" in capsys.readouterr().err


# --- goals where X wins ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "side", "rules", "mention"),
    [
        ("unbeatable", "O", WON, "3x4"),
        ("optimal", "both", SQUARE, "unbeatable"),
        ("unbeatable", "X", Rules(5, 5, 4), None),
    ],
)
def test_goals_that_cannot_be_reached_are_refused(until, side, rules, mention):
    """None: it can be reached."""
    with refuses(mention) if mention else nullcontext():
        check_goal(SimpleNamespace(learned_side=side, rules=rules), until)
