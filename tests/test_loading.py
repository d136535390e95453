"""A saved run is loaded from its folder alone, without the runs that it was trained against."""

import shutil

import pytest
from small_runs import python, trained

import agents
import train
from agents import TRAINABLE
from tictactoe_env.certificate import certify, write
from tictactoe_env.evaluation import evaluate
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.rules import Rules
from training.options import options_of

STEPS = {**dict.fromkeys(TRAINABLE, 1_024), "neuroevolution": 15}  # of a short training


def options_with(agent, foe):
    """The options of a training that needs the run `foe`; skips the test if there are none."""
    names = {option.name for option in options_of(agents.page(agent).Config)}
    if "opponents" in names:
        return ["--opponents", f"{foe}:1,random:1"]
    if "value" in names:
        return ["--value", str(foe)]
    return pytest.skip(f"{agent} learns from no other player")


@pytest.fixture(scope="module", params=sorted(TRAINABLE))
def run(request, tmp_path_factory):
    """(folder, where its opponent was, where that was moved to, the steps, the table)."""
    agent, folder = request.param, tmp_path_factory.mktemp(request.param)
    foe, elsewhere = folder / "foe", folder / "elsewhere"
    foe.mkdir()
    write(certify(MinimaxPolicy(Rules()), "minimax"), foe / "certificate.json")
    options, steps = options_with(agent, foe), STEPS[agent]
    assert trained(agent, folder / "run", *options, steps=steps) == 0
    table = agents.load(folder / "run").table
    foe.rename(elsewhere)
    return folder / "run", foe, elsewhere, steps, table


def test_a_run_whose_opponent_was_moved_is_loaded_and_evaluated(run):
    folder, _, _, _, table = run
    policy = agents.load(folder)
    assert (policy.table == table).all()
    assert evaluate(policy).x.win > 0


def test_a_training_continues_only_where_its_opponent_is_and_says_which_is_missing(
    run, tmp_path, capsys
):
    folder, foe, elsewhere, steps, _ = run
    copy = shutil.copytree(folder, tmp_path / "run")
    resume = ["--resume", str(copy), "--steps", str(2 * steps)]
    with pytest.raises(SystemExit) as stopped:
        train.main(resume)
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert str(foe) in message
    shutil.copytree(elsewhere, foe)
    try:
        assert train.main(resume) == 0
    finally:
        shutil.rmtree(foe)


@pytest.mark.parametrize("agent", ["mcts", "tabular_q", "trie"])
def test_an_agent_without_a_network_is_loaded_without_torch(agent, tmp_path):
    assert trained(agent, tmp_path / "run", steps=600) == 0
    program = "import sys, pathlib, agents; agents.load(pathlib.Path(sys.argv[1])); "
    done = python("-c", program + "print('torch' in sys.modules)", tmp_path / "run")
    assert done.stdout == "False\n", done.stderr
