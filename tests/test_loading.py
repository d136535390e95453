"""A saved run is loaded from its folder alone, without the runs that it was trained against."""

import pytest
from small_runs import trained
from text_cases import called

import agents
import train
from tictactoe_env.certificate import certify, write
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.rules import Rules


@pytest.mark.parametrize("agent", ["maskable_ppo", "tabular_q"])
def test_a_run_is_loaded_without_its_opponent_and_continues_with_it(
    agent, tmp_path, capsys, no_charts
):
    folder, foe = tmp_path / "run", tmp_path / "foe"
    write(certify(MinimaxPolicy(Rules()), "minimax"), foe / "certificate.json")
    assert trained(agent, folder, "--opponents", f"{foe}:1,random:1", steps=1_024) == 0
    table = agents.load(folder).table
    foe.rename(tmp_path / "elsewhere")
    assert (agents.load(folder).table == table).all()
    resume = ["--resume", str(folder), "--steps", "2048"]
    capsys.readouterr()
    code, _, err = called(train, resume, capsys)
    assert (code, err.count("\n"), str(foe) in err) == (2, 1, True)
    (tmp_path / "elsewhere").rename(foe)
    assert train.main(resume) == 0
