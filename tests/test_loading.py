"""A saved run is loaded from its folder alone, without the runs that it was trained against."""

import pytest
from small_runs import trained

import agents
import train
from agents import TRAINABLE
from tictactoe_env.certificate import certify, write
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.rules import Rules
from training.options import options_of

STEPS = {**dict.fromkeys(TRAINABLE, 1_024), "neuroevolution": 15}  # of a short training
NAMES = {agent: {known.name for known in options_of(agents.page(agent).Config)} for agent in STEPS}
TAUGHT = [agent for agent in STEPS if {"opponents", "value"} & NAMES[agent]]


# One agent of Stable-Baselines3 and one of our own; the others are slow only in their number.
QUICK = ("maskable_ppo", "tabular_q")


@pytest.mark.parametrize(
    "agent",
    [agent if agent in QUICK else pytest.param(agent, marks=pytest.mark.slow) for agent in TAUGHT],
)
def test_a_run_is_loaded_without_its_opponent_and_continues_with_it(agent, tmp_path, capsys):
    folder, foe = tmp_path / "run", tmp_path / "foe"
    write(certify(MinimaxPolicy(Rules()), "minimax"), foe / "certificate.json")
    against = ["--opponents", f"{foe}:1,random:1"]
    options = against if "opponents" in NAMES[agent] else ["--value", str(foe)]
    assert trained(agent, folder, *options, steps=STEPS[agent]) == 0
    table = agents.load(folder).table
    foe.rename(tmp_path / "elsewhere")
    assert (agents.load(folder).table == table).all()
    resume = ["--resume", str(folder), "--steps", str(2 * STEPS[agent])]
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        train.main(resume)
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert str(foe) in message
    (tmp_path / "elsewhere").rename(foe)
    assert train.main(resume) == 0
