"""TorchRL takes the environments untouched: specs, info, masks, batches, processes, actors."""

import os

import gymnasium as gym
import numpy as np
import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.envs import (
    DTypeCastTransform,
    GymEnv,
    GymWrapper,
    PettingZooWrapper,
    check_env_specs,
)
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor

from tictactoe_env import FunctionPolicy, Rules, evaluate, pettingzoo, snapshot

ID = "tictactoe_env:TicTacToe-v0"
INFO = {"action_mask", "side", "outcome", "illegal_move"}
MODES = ["SAME_STEP", "DISABLED"]
# TorchRL's own warnings about itself are not the subject.
os.environ["RL_WARNINGS"] = "False"


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    torch.set_num_threads(1)


def vector(mode, **arguments):
    """The package's own vector environment, with all numbers of info."""
    env = gym.make_vec(ID, 4, autoreset_mode=mode, **arguments)
    wrapped = GymWrapper(env, categorical_action_encoding=True)
    # With SAME_STEP TorchRL reads all of info without being asked.
    return wrapped if mode == "SAME_STEP" else wrapped.auto_register_info_dict()


def masked_actor():
    logits = TensorDictModule(MLP(18, 9, num_cells=[32]), ["observation"], ["logits"])
    return ProbabilisticActor(
        logits,
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
    )


def with_bool_mask(env):
    return env.append_transform(DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))


@pytest.mark.parametrize("observation", ["planes", "grid", "flat"])
def test_specs_hold_untouched_and_with_the_numbers_of_info(observation):
    check_env_specs(GymEnv(ID, observation=observation))
    check_env_specs(GymWrapper(gym.make(ID, observation=observation)))
    env = GymEnv(ID, observation=observation).auto_register_info_dict()
    check_env_specs(env)
    assert isinstance(env, GymEnv)  # no primer was needed: reset and step have the same keys
    assert set(env.observation_spec.keys()) == {"observation", *INFO}
    for key in INFO:
        assert env.observation_spec[key].dtype == torch.int8


@pytest.mark.parametrize("mode", MODES)
def test_a_masked_categorical_actor_never_moves_onto_a_taken_cell(mode):
    env = with_bool_mask(vector(mode, opponent=[["self", 0.5], ["minimax", 0.5]]))
    steps = env.rollout(100, masked_actor(), break_when_any_done=False)
    assert steps["next", "done"].sum() > 50
    assert not steps["next", "illegal_move"].any()


def test_an_actor_becomes_an_opponent_and_is_evaluated_exactly():
    actor = masked_actor()

    def probabilities(observations, masks):
        arrays = {"observation": torch.tensor(observations), "action_mask": torch.tensor(masks)}
        return actor.get_dist(TensorDict(arrays, len(masks))).probs

    player = FunctionPolicy(probabilities, Rules())
    result = evaluate(player)
    assert result.x.illegal == result.o.illegal == 0
    assert not result.unbeatable  # it has not learned
    frozen = snapshot(player, Rules())
    games = gym.make_vec(ID, 4, opponent="self")
    games.add_snapshot(player)
    for weight in actor.parameters():
        torch.nn.init.normal_(weight)
    empty = np.zeros((1, 9), np.int8)
    assert not np.allclose(player.probs(empty), frozen.probs(empty))  # the snapshot stays
    assert evaluate(frozen) == result


def test_both_seats_through_the_environment_of_pettingzoo():
    env = PettingZooWrapper(
        pettingzoo.env(illegal="raise"),
        return_state=False,
        use_mask=True,
        categorical_actions=True,
    )
    check_env_specs(env)
    for _ in range(10):
        steps = env.rollout(9)  # random moves, which obey the mask: an illegal one raises
        x, o = steps["player_1"], steps["player_2"]
        turns = x["mask"].flatten().tolist()
        assert turns == [turn % 2 == 0 for turn in range(len(turns))]
        assert o["mask"].flatten().tolist() == [not turn for turn in turns]
        cells = [(x if turn else o)["action"][at].item() for at, turn in enumerate(turns)]
        assert len(set(cells)) == len(cells)
        assert steps["next", "done"].flatten().tolist() == [False] * (len(turns) - 1) + [True]
        won, lost = (steps["next", seat, "reward"][-1].item() for seat in pettingzoo.AGENTS)
        assert won == -lost


def test_the_example_draws_games_that_it_can_lose(run_example, tmp_path):
    printed = run_example("torchrl_ppo.py", 12_288)
    assert "can be beaten as " in printed  # after three updates
    assert "illegal" not in printed
    assert 'class="line"' in (tmp_path / "lost.svg").read_text()  # the opponent's three in a row
