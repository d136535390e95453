"""training/rivals.py and train.py --rival: two learners that are trained against each other."""

import signal

import numpy as np
import pytest
from sample_players import fixed_table
from small_runs import JUDGE_EVERY, metrics, small_config, trained

import agents
import train
from agents import TRAINABLE, WITH_RIVALS
from agents.tabular_q import TabularQ
from tictactoe_env.certificate import read, table_of, verify
from tictactoe_env.rules import Rules
from training import run as runs
from training.files import read_arrays, read_json
from training.learner import Learner
from training.selfplay import SelfPlay

RULES = Rules()
STEPS = 2 * JUDGE_EVERY
MORE = "--snapshot-every 1024 --judge-every 512"
PPO = f"maskable_ppo --num-envs 64 --hidden 32 --batch-size 256 --epochs 2 {MORE}"
NET = f"tictacnet --games 32 --updates 5 {MORE}"


def fight(folder, agent="tabular_q", rival=NET, *options, steps=STEPS):
    """The exit code of a small training of two learners."""
    options = ["--opponents", "rival", *MORE.split(), "--rival", rival, *options]
    return trained(agent, folder, *options, steps=steps)


@pytest.fixture(autouse=True)
def no_charts(monkeypatch):
    """Charts take half a second each; only the test that looks for them draws them."""
    for name in ("chart", "learning_curves"):
        monkeypatch.setattr(runs, name, lambda *arguments: None)


def rival_of(folder):
    return folder.with_name(f"{folder.name}-rival")


def error_of(capsys, *arguments):
    """The error that a command line ends with, on one line and with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        train.main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert (printed.err.count("\n"), printed.out) == (1, "")
    return printed.err


def assert_same(one, other):
    """Both runs of one training are those of another one, in all but the clock."""
    for name in ("", "rival/"):
        for part in ("model", "state"):
            file = f"checkpoint/{name}{part}.safetensors"
            assert (one / file).read_bytes() == (other / file).read_bytes()
    for mine, its in ((one, other), (rival_of(one), rival_of(other))):
        rows = [[{**row, "seconds": 0} for row in metrics(run)] for run in (mine, its)]
        assert rows[0] == rows[1]
        assert (mine / "model.safetensors").read_bytes() == (its / "model.safetensors").read_bytes()
        assert read(mine)["moves"] == read(its)["moves"]


@pytest.mark.parametrize("agent", TRAINABLE)
def test_agents_that_can_meet_a_rival_are_those_with_a_pool_of_snapshots(agent):
    learner = agents.page(agent).begin(small_config(agent))
    can_meet = type(learner).meet is not Learner.meet
    assert can_meet == (agent in WITH_RIVALS) == isinstance(vars(learner).get("pool"), SelfPlay)
    if not can_meet:
        with pytest.raises(NotImplementedError, match="has no pool that a rival could join"):
            learner.meet(fixed_table(RULES))


@pytest.mark.parametrize("agent", WITH_RIVALS)
def test_the_rival_is_who_is_played_against(agent):
    """Random play stands in for it; a snapshot of somebody else leads to another model."""
    learners = [agents.page(agent).begin(small_config(agent, opponents="rival")) for _ in range(3)]
    for learner, rival in zip(
        learners, (None, fixed_table(RULES), fixed_table(RULES)), strict=True
    ):
        if rival is not None:
            learner.meet(rival)
        learner.advance(1_000)
    tables = [learner.policy().table for learner in learners]
    assert (tables[0] != tables[1]).any()
    assert (tables[1] == tables[2]).all()


def test_self_and_rival_have_shares_of_their_own_and_are_saved():
    own, others = [fixed_table(RULES, seed) for seed in range(3)], fixed_table(RULES, 7)
    pool = SelfPlay("random:0.5,self:0.3,rival:0.2", RULES, size=2)
    for snapshot in own:
        pool.add(snapshot)
    pool.add_rival(others)
    assert pool.pool().weights == pytest.approx([0.5, 0.15, 0.15, 0.2])
    assert pool.pool().policies[1:] == (*pool.snapshots, others)
    again = SelfPlay("random:0.5,self:0.3,rival:0.2", RULES, size=2)
    again.restore(pool.state())
    assert [
        (one.table == two.table).all()
        for one, two in zip(again.pool().policies[1:], pool.pool().policies[1:], strict=True)
    ] == [True] * 3


@pytest.mark.slow
def test_two_learners_take_turns_and_each_becomes_a_run_of_its_own(tmp_path, capsys, monkeypatch):
    monkeypatch.undo()  # charts are drawn
    folder = tmp_path / "run"
    assert fight(folder, "dqn", PPO, "--side", "X") == 0
    printed = capsys.readouterr().out
    seeds = []
    for run, agent, side in ((folder, "dqn", "X"), (rival_of(folder), "maskable_ppo", "O")):
        content = read(run)
        verify(content)
        config = content["config"]
        assert (content["agent"], config["side"], config["opponents"]) == (agent, side, "rival")
        assert config["steps"] == int(metrics(run)[-1]["steps"]) == STEPS
        assert (agents.load(run).table == table_of(content).table).all()
        assert f"{agent}:      2,048 steps" in printed
        seeds.append(content["seed"])
        assert {"growth.png", "windows.png"} <= {path.name for path in run.iterdir()}
    assert seeds == [0, 1]
    assert read_json(folder / "config.json")["rival"] == "run-rival"
    assert "dqn as X against maskable_ppo as O, exact: " in printed
    assert "maskable_ppo as X" not in printed, "a side that it has not learned"
    assert f"look: python evaluate.py {folder} {folder}-rival\n" in printed
    met = read_arrays(folder / "checkpoint/rival/state.safetensors")[0]
    kept = [met[f"state/pool/rivals/{number}"] for number in range(2)]
    assert all(moves.dtype == np.uint8 for moves in kept), "the greedy moves of dqn"
    last = agents.page("dqn").player(
        small_config("dqn"), read_arrays(folder / "checkpoint/model.safetensors")[0]
    )
    assert (kept[1] == last.table.argmax(axis=1)).all(), "the newest snapshot"
    assert (kept[0] != kept[1]).any(), "an earlier one"


@pytest.mark.parametrize(("agent", "rival"), [("tabular_q", NET), ("dqn", PPO)])
def test_both_continue_bit_for_bit(agent, rival, tmp_path, capsys):
    part, whole = tmp_path / "part", tmp_path / "whole"
    assert fight(part, agent, rival, steps=JUDGE_EVERY) == 0
    assert f"continue with: python train.py --resume {part} --steps" in capsys.readouterr().out
    assert train.main(["--resume", str(part), "--steps", str(STEPS)]) == 0
    assert fight(whole, agent, rival) == 0
    assert_same(part, whole)


@pytest.mark.slow
def test_ctrl_c_ends_with_the_turn_and_a_kill_loses_at_most_what_follows_a_checkpoint(
    tmp_path, capsys, monkeypatch
):
    """A second Ctrl-C stands for the kill. The interrupts come in the middle of a turn."""
    advance, calls = TabularQ.advance, []

    def interrupted(self, most):
        advance(self, most)
        calls.append(self.steps)
        if len(calls) in (3, 5):  # the first part of the second and of the third turn
            signal.raise_signal(signal.SIGINT)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(runs, "CHECKPOINT_SECONDS", -1)
    monkeypatch.setattr(TabularQ, "advance", interrupted)
    folder, whole, steps = tmp_path / "run", tmp_path / "whole", 4 * JUDGE_EVERY
    assert fight(folder, steps=steps) == 0
    printed = capsys.readouterr().out
    assert "stopping at the end of this turn, where the state is saved" in printed
    assert f"continue with: python train.py --resume {folder}\n" in printed
    made = [int(metrics(run)[-1]["steps"]) // JUDGE_EVERY for run in (folder, rival_of(folder))]
    assert made == [2, 1], "the rival has the next turn"
    assert train.main(["--resume", str(folder)]) == 130
    said = f"train.py: ended at once; continue with: python train.py --resume {folder}\n"
    assert capsys.readouterr().err == said
    assert train.main(["--resume", str(folder)]) == 0
    assert fight(whole, steps=steps) == 0
    assert_same(folder, whole)


def test_a_goal_ends_the_training_when_both_have_reached_it(tmp_path, capsys):
    board = ("--rows", "2", "--until", "unbeatable", "--opponents", "rival:0.2,minimax-slip=0.6")
    assert fight(tmp_path / "run", "tabular_q", "tabular_q", *board, steps=200_000) == 0
    for run in (tmp_path / "run", rival_of(tmp_path / "run")):
        assert int(metrics(run)[-1]["steps"]) < 200_000
        assert read(run)["board"] == {"rows": 2, "cols": 3, "k": 3}
    assert "tabular_q (rival) as X against tabular_q as O" in capsys.readouterr().out
    assert fight(tmp_path / "new", "tabular_q", "tabular_q", "--until", "optimal", steps=500) == 1
    printed = capsys.readouterr().out
    assert "optimal was not reached by tabular_q (rival) within" in printed


def test_presets_are_rivals_too_and_learn_from_each_other_alone(tmp_path):
    few = "--num-envs 32 --steps 1000 --judge-every 1000"
    own = ["dqn", "--preset", "duel-first", "--rival", f"dqn --preset duel-second {few} --seed 9"]
    first, second = train.rival_entries(*typed_of([*own, *few.split()]), {})
    for entry, side, seed in ((first, "X", 0), (second, "O", 9)):
        config = entry.config
        assert (config.side, config.seed, config.opponents) == (side, seed, "rival")
        assert (config.hidden, config.discount, config.steps) == ((27,), 0.75, 1_000)


def typed_of(arguments):
    page = agents.page(arguments[0])
    return page, train.command_line(page).parse(arguments)


def test_an_error_says_what_does_not_fit_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, said in (
        (("dqn", "--opponents", "rival"), "name a rival: give its agent, such as --rival dqn"),
        (("value_net", "--rival", "dqn"), "value_net cannot be trained against a rival"),
        (("dqn", "--rival", "trie"), "take one of dqn, maskable_ppo, tabular_q, tictacnet"),
        (("dqn", "--rival", "dqm"), "unknown agent 'dqm'; did you mean 'dqn'?"),
        (("dqn", "--rival", ""), "--rival: expected an agent and its options, got ''"),
        (("dqn", "--rival", "dqn --stpes 5"), "--rival: unknown option '--stpes'; did you mean"),
        (("dqn", "--rival", "dqn --out x"), "--rival: --out is not an option of the rival alone"),
        (("dqn", "--rival", "dqn --rows 4"), "rivals play on the same board, got 3x3"),
        (("dqn", "--rival", "dqn --side O", "--side", "O"), "both learn O only"),
        (("dqn", "--rival", "dqn", "--opponents", "random"), "'random' of dqn lack its rival"),
    ):
        assert said in error_of(capsys, *arguments)
        assert list(tmp_path.iterdir()) == []
    occupied = tmp_path / "run-rival" / "file"
    occupied.parent.mkdir()
    occupied.touch()
    said = error_of(capsys, "tabular_q", "--rival", "tabular_q", "--out", tmp_path / "run")
    assert "run-rival is not an empty folder" in said
    assert not (tmp_path / "run").exists()


def test_the_run_of_the_first_learner_is_the_one_that_continues(tmp_path, capsys):
    folder = tmp_path / "run"
    assert fight(folder, "tabular_q", "tabular_q --games 32", steps=500) == 0
    capsys.readouterr()
    other, made = rival_of(folder), metrics(folder)[-1]["steps"]
    for arguments, said in (
        (["--resume", other], f"was trained with its rival: --resume {folder} continues both"),
        (["--resume", folder, "--rival", "dqn"], "continues with the rival that it has: leave"),
    ):
        assert said in error_of(capsys, *arguments)
    assert train.main(["--resume", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert f"complete: {folder} has trained {int(made):,} steps" in printed
    assert f"complete: {other} has trained" in printed
    other.rename(tmp_path / "elsewhere")
    assert "run-rival" in error_of(capsys, "--resume", folder, "--steps", "9000")


@pytest.mark.parametrize(
    ("opponents", "meets"), [("rival-keep=2:0.5,random:0.5", True), ("random,self-keep=2", False)]
)
def test_a_rival_may_have_options_in_the_pool(opponents, meets):
    config = small_config("tabular_q", opponents=opponents)
    assert train.meets_rival(train.Entry(None, config, None)) == meets
    pool = SelfPlay(opponents, RULES)
    for seed in range(3):
        pool.add_rival(fixed_table(RULES, seed))
    assert len(pool.rivals) == (2 if meets else 3)
