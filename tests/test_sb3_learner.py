"""What holds for both agents of Stable-Baselines3, and what they share in training/."""

from functools import partial

import numpy as np
import pytest
import torch
from learners import BOARDS, OBSERVATIONS, RULES
from programs import without
from sb3_contrib import MaskablePPO

from agents import dqn, maskable_ppo
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.observation import observe
from tictactoe_env.sb3 import MaskableDQN
from training import checkpoint

EMPTY = np.zeros((1, 2, 3, 3), dtype=np.int8)
SMALL = {"steps": 1_024, "num_envs": 32, "hidden": (16,), "batch_size": 64, "judge_every": 256}
CONFIGS = {
    dqn: dqn.Config(**SMALL, snapshot_every=128, buffer_size=512, learning_starts=64),
    maskable_ppo: maskable_ppo.Config(**SMALL, snapshot_every=128, rollout_steps=4, epochs=2),
}
MODULES = pytest.mark.parametrize("module", CONFIGS, ids=lambda module: module.AGENT)
are_close = partial(np.testing.assert_allclose, rtol=0, atol=1e-5)


def trained(module, **changes):
    """A learner after 512 steps: before any, all moves of the empty board may be equal."""
    learner = module.begin(CONFIGS[module].replace(**changes))
    learner.advance(512)
    return learner


@pytest.fixture(scope="module")
def learners():
    return {
        module: trained(module, opponents="random:0.5,minimax:0.25,self:0.25") for module in CONFIGS
    }


def scores(learner, observations):
    """Values or log probabilities of the moves: (B, cells)."""
    network, planes = learner.network, torch.as_tensor(observations)
    with torch.no_grad():
        is_dqn = isinstance(network, dqn.BoardQNetwork)
        return (
            network.move_scores(planes) if is_dqn else network.outputs(planes).log_probs
        ).numpy()


@MODULES
def test_a_board_has_the_same_scores_alone_and_in_a_batch_and_so_have_its_images(learners, module):
    expected = scores(learners[module], OBSERVATIONS)
    for permutation in RULES.symmetries:
        images = scores(learners[module], observe(BOARDS[:, permutation], RULES, "planes"))
        are_close(images, expected[:, permutation])
    some = np.random.default_rng(0).permutation(len(BOARDS))[:300]
    are_close([scores(learners[module], OBSERVATIONS[[at]])[0] for at in some], expected[some])
    assert ((expected < -1e7) == (BOARDS != 0)).all(), "of occupied cells"


@MODULES
def test_cells_that_are_images_of_each_other_have_scores_of_their_own_without_symmetry(module):
    assert len(set(scores(trained(module, symmetry=False), EMPTY)[0])) == 9


@MODULES
@pytest.mark.parametrize(("side", "opening"), [("X", "b2"), ("O", ""), ("X", "random")])
def test_a_side_is_learned_with_its_opening_and_its_rewards(module, side, opening, monkeypatch):
    task = {"exploring_starts": 0.0, "opponents": "random", "rewards": (0.75, 0.125, -0.5)}
    task |= {"discount": 0.5, "early_draw": True, "encoding": "grid"}
    learner = module.begin(CONFIGS[module].replace(**task, side=side, opening=opening))
    env, seen, cells, rewards = learner.algorithm.env, [], [], []
    step = env.step

    def noted(actions):
        seen.extend(np.array(learner.algorithm._last_obs))
        cells.extend(actions)
        result = step(actions)
        rewards.extend(result[1].tolist())
        return result

    monkeypatch.setattr(env, "step", noted)
    learner.advance(512)
    boards = np.array(seen).reshape(-1, 2, 9)
    marks = boards.sum(axis=2)
    assert (marks[:, 1] - marks[:, 0] == (side == "O")).all()
    assert set(rewards) == {0.75, 0.125, -0.5, 0.0}
    assert not RULES.is_dead(*RULES.to_bits(np.int8([1, -1]) @ boards)).any()
    assert learner.algorithm.gamma == 0.5
    first, table = np.array(cells)[marks.sum(axis=1) == 0], learner.policy().table
    assert set(first.tolist()) == set({"b2": [4], "": [], "random": range(9)}[opening])
    if opening == "random":
        assert (table[0] == 1 / 9).all()
        assert (table[1:].max(axis=1) == 1).all()
    elif opening:
        assert table[0].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert (module.player(learner.config, learner.model()).table == table).all()


def test_a_duel_is_continued_bit_for_bit(tmp_path):
    """With a copied target network and plain gradients; tests/test_agents.py has the others."""
    whole = trained(dqn, target_every=128, optimizer="sgd", side="X", opening="b2")
    checkpoint.save(tmp_path, "dqn", whole.config, whole)
    rest = dqn.begin(whole.config)
    checkpoint.restore(tmp_path, "dqn", whole.config, rest)
    for learner in (whole, rest):
        learner.advance(512)
    for name, array in whole.model().items():
        assert array.tobytes() == rest.model()[name].tobytes()


@MODULES
def test_a_player_on_the_cpu_and_an_exported_zip_play_the_same_moves(learners, module, tmp_path):
    """Whatever the device of the training; the zip can be trained on."""
    learner, path = learners[module], tmp_path / "player.zip"
    player = module.player(CONFIGS[module].replace(device="cuda"), learner.model())
    assert (player.table == learner.policy().table).all()
    module.export_sb3(learner.config, learner.model(), path)
    kind = MaskableDQN if module is dqn else MaskablePPO
    algorithm = kind.load(path, env=module.build(CONFIGS[module]).env)
    moves, _ = algorithm.predict(OBSERVATIONS, deterministic=True)
    assert (moves == learner.policy().table.argmax(axis=1)).all()
    assert algorithm.learn(128).num_timesteps >= 128


ELSEWHERE = """
import numpy as np
from sb3_contrib import MaskablePPO
from tictactoe_env import evaluate
from tictactoe_env.sb3 import MaskableDQN
kind, path = sys.argv[1:]
model = {"maskable_ppo": MaskablePPO, "dqn": MaskableDQN}[kind].load(path)
print(evaluate(model).x.win)
"""


@pytest.mark.slow
@MODULES
def test_an_exported_zip_loads_where_only_the_package_is_installed(learners, module, tmp_path):
    learner, path = learners[module], tmp_path / "player.zip"
    module.export_sb3(learner.config, learner.model(), path)
    found = without("agents training players terminal", ELSEWHERE, module.AGENT, path)
    assert float(found) == evaluate(learner.policy()).x.win
