"""What holds for both pages that learn with Stable-Baselines3, and what they share in training/."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from agents import dqn, maskable_ppo
from tictactoe_env.evaluation import evaluate
from tictactoe_env.observation import observe
from tictactoe_env.opponents import make_opponent, parse_pool
from tictactoe_env.policy import TabularPolicy, one_hot, tabulate
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import Rules
from training import checkpoint
from training.learner import drive
from training.torch_arrays import load_moments, load_weights, moments_of, weights_of

RULES = Rules()
BOARDS = positions_of(RULES).boards[positions_of(RULES).unfinished]
OBSERVATIONS = observe(BOARDS, RULES)
EMPTY = np.zeros((1, 2, 3, 3), dtype=np.int8)
SMALL = {
    **{"steps": 1_024, "num_envs": 32, "hidden": (16,), "batch_size": 64},
    **{"judge_every": 256, "snapshot_every": 128, "snapshots": 3},
}
CONFIGS = {
    dqn: dqn.Config(**SMALL, buffer_size=512, learning_starts=64),
    maskable_ppo: maskable_ppo.Config(**SMALL, rollout_steps=4, epochs=2),
}
PAGES = pytest.mark.parametrize("page", CONFIGS, ids=lambda page: page.AGENT)


def trained(page, **changes):
    """A learner after 512 steps: before any, all moves of the empty board may be equal."""
    learner = page.begin(replace(CONFIGS[page], **changes))
    learner.advance(512)
    return learner


@pytest.fixture(scope="module")
def learners():
    return {page: trained(page, opponents="random:0.5,minimax:0.25,self:0.25") for page in CONFIGS}


def scores(learner, observations):
    """Values or log probabilities of the moves: (B, cells)."""
    policy = learner.algorithm.policy
    planes = torch.as_tensor(observations)
    with torch.no_grad():
        is_dqn = hasattr(policy, "player")
        return (policy.player(planes) if is_dqn else policy.log_probs_and_values(planes)[0]).numpy()


# --- the task ------------------------------------------------------------------------------------


def best_response(opponent, task):
    """Values of the moves (U, 9) against an opponent by backward induction; -inf if occupied.

    task: a configuration of dqn, for its rewards and rules.
    """
    positions, table = positions_of(RULES), tabulate(make_opponent(opponent, RULES), RULES).by_row()
    best = np.full((len(positions), 9), -np.inf)
    for seat in (1, -1):
        won, lost = (seat * positions.outcome_x == sign for sign in (1, -1))
        values = np.select([won, lost], [task.win_reward, -task.loss_penalty], task.draw_reward)
        for row in np.flatnonzero(~positions.is_over)[::-1]:
            children, free = positions.children[row], positions.children[row] >= 0
            if positions.x_to_move[row] == (seat == 1):
                best[row, free] = values[children[free]]
                values[row] = task.discount * best[row].max()
            else:
                values[row] = table[row, free] @ values[children[free]]
            if task.early_draw and positions.is_dead[row]:
                values[row] = task.draw_reward
    if task.opening:
        best[0, np.arange(9) != 4] = -np.inf
    return best[positions.unfinished]


PPO_TASK = dqn.Config(loss_penalty=1.0, opponents=maskable_ppo.Config().opponents)


@pytest.mark.parametrize(
    ("task", "corner_centre_edge"),
    [(dqn.Config(), [0.960, 0.952, 0.944]), (PPO_TASK, [0.8987, 0.8930, 0.8801])],
)
def test_best_responses_to_the_default_opponent_reach_the_best_achievable(task, corner_centre_edge):
    values = best_response(parse_pool(task.opponents)[0][0], task)
    np.testing.assert_allclose(values[0, [0, 4, 1]], corner_centre_edge, atol=5e-5)
    equal = values >= values.max(axis=1, keepdims=True) - 1e-9
    assert evaluate(TabularPolicy(RULES, equal / equal.sum(axis=1, keepdims=True))).optimal


DUELS = [dqn.Config(**preset.options) for preset in dqn.PRESETS.values()]


@pytest.mark.parametrize("task", [PPO_TASK, *DUELS])
def test_the_best_response_to_random_play_is_unbeatable_as_x_but_not_as_o(task):
    values = best_response("random", task)
    results = evaluate(TabularPolicy(RULES, one_hot(values.argmax(axis=1), 9)))
    assert (results.unbeatable_x, results.unbeatable_o) == (True, False)


# --- the network ---------------------------------------------------------------------------------


@PAGES
def test_boards_that_are_images_of_each_other_have_images_of_the_same_scores(learners, page):
    expected = scores(learners[page], OBSERVATIONS)
    for permutation in positions_of(RULES).symmetries:
        images = scores(learners[page], observe(BOARDS[:, permutation], RULES))
        np.testing.assert_allclose(images, expected[:, permutation], rtol=0, atol=1e-5)


@PAGES
def test_cells_that_are_images_of_each_other_share_a_score_unless_symmetry_is_off(learners, page):
    assert len(set(scores(learners[page], EMPTY)[0])) == 3
    assert len(set(scores(trained(page, symmetry=False), EMPTY)[0])) == 9
    wide = scores(trained(page, rows=2, cols=4), np.zeros((1, 2, 2, 4), dtype=np.int8))[0]
    assert wide[0] == wide[3] == wide[4] == wide[7]
    assert len(set(wide)) == 2


@PAGES
def test_a_board_has_the_same_scores_alone_and_in_a_batch(learners, page):
    some = OBSERVATIONS[np.random.default_rng(0).permutation(len(BOARDS))[:300]]
    alone = np.concatenate([scores(learners[page], one[None]) for one in some])
    np.testing.assert_allclose(scores(learners[page], some), alone, rtol=0, atol=1e-5)


@PAGES
def test_occupied_cells_are_never_chosen_and_one_board_gets_one_move(learners, page):
    assert ((scores(learners[page], OBSERVATIONS) < -1e7) == (BOARDS != 0)).all()
    algorithm = learners[page].algorithm
    for deterministic in (True, False):
        chosen, _ = algorithm.predict(OBSERVATIONS, deterministic=deterministic)
        assert (BOARDS[np.arange(len(BOARDS)), chosen] == 0).all()
        action, _ = algorithm.predict(EMPTY[0], deterministic=deterministic)
        assert np.shape(action) == ()
        assert 0 <= int(action) < 9


# --- training ------------------------------------------------------------------------------------


@PAGES
def test_snapshots_begin_with_the_untrained_network_and_follow_at_fixed_steps(page):
    learner = page.begin(replace(CONFIGS[page], opponents="self:1", snapshot_every=256))
    untrained, seen = learner.snapshot(), []
    for _ in range(8):
        learner.advance(128)
        seen.append(len(learner.pool.snapshots))
    assert (learner.pool.snapshots[0].table == untrained.table).all()
    assert seen == [1, 1, 2, 2, 3, 3, 3, 3]
    assert ((untrained.table > 0).sum(axis=1).max() > 1) == (page is maskable_ppo)


@PAGES
def test_what_the_algorithm_logs_is_handed_over_once(learners, page):
    found = trained(page).scalars()
    assert {"train/loss", "train/learning_rate"} <= set(found)
    assert ("rollout/exploration_rate" in found) == (page is dqn)
    assert ("train/entropy_loss" in found) == (page is maskable_ppo)
    learners[page].scalars()
    assert learners[page].scalars() == {}


@pytest.mark.parametrize(
    ("page", "changes"),
    [
        *((page, {"opponents": "self:1"}) for page in CONFIGS),
        (dqn, {"target_every": 128, "optimizer": "sgd", "side": "X", "opening": "b2"}),
    ],
)
def test_a_training_is_continued_bit_for_bit(tmp_path, page, changes):
    config, files = replace(CONFIGS[page], **changes), []
    whole, rest = page.begin(config), page.begin(config)
    whole.advance(512)
    checkpoint.save(tmp_path, page.AGENT, config, whole)
    checkpoint.restore(tmp_path, page.AGENT, config, rest)
    for learner, folder in ((whole, tmp_path / "whole"), (rest, tmp_path / "rest")):
        learner.advance(512)
        checkpoint.save(folder, page.AGENT, config, learner)
        assert (checkpoint.load(page, folder).table == whole.policy().table).all()
        files.append([path.read_bytes() for path in sorted(folder.iterdir())])
    assert files[0] == files[1]
    assert rest.notes() == whole.notes()


@PAGES
def test_a_player_is_made_on_the_cpu_without_games_and_draws_nothing(learners, page, monkeypatch):
    monkeypatch.setattr(page, "build", None)
    monkeypatch.setattr(page, "TicTacToeVecEnv", None)
    config, before = replace(CONFIGS[page], device="cuda"), torch.get_rng_state()
    player = page.player(config, learners[page].model())
    assert (player.table == learners[page].policy().table).all()
    assert torch.equal(before, torch.get_rng_state())


@PAGES
def test_the_exported_zip_plays_the_same_moves_and_can_be_trained_on(learners, page, tmp_path):
    learner, path = learners[page], tmp_path / "player.zip"
    page.export_sb3(learner.config, learner.model(), path)
    kind = dqn.BoardDQN if page is dqn else MaskablePPO
    algorithm = kind.load(path, env=page.build(CONFIGS[page]).env)
    algorithm.policy.save(path)
    for policy in (algorithm.policy, type(algorithm.policy).load(path)):
        moves, _ = policy.predict(OBSERVATIONS, deterministic=True)
        assert (moves == learner.policy().table.argmax(axis=1)).all()
    assert algorithm.learn(128).num_timesteps >= 128


# --- arrays --------------------------------------------------------------------------------------


def test_weights_and_moments_come_back_and_others_are_refused():
    torch.manual_seed(0)
    one, other = (torch.nn.Linear(2, 3) for _ in range(2))
    first, second = (torch.optim.Adam(module.parameters()) for module in (one, other))
    one(torch.ones(1, 2)).sum().backward()
    first.step()
    weights, moments = weights_of(one), moments_of(first)
    load_weights(other, weights)
    load_moments(second, moments)
    assert all((weights[name] == weights_of(other)[name]).all() for name in weights)
    assert str(moments) == str(moments_of(second))
    for wrong, words in (
        ({**weights, "bias": weights["bias"][:2]}, "bias must be finite float32 of the shape"),
        ({"weight": weights["weight"]}, "bias must be .* got nothing"),
        ({**weights, "scale": weights["bias"]}, "got also scale"),
    ):
        with pytest.raises(ValueError, match=words):
            load_weights(other, wrong)
    with pytest.raises(ValueError, match="exp_avg must be finite numbers of the shape"):
        load_moments(second, {"0": {"exp_avg": np.zeros(5, dtype=np.float32)}})


# --- learning ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "options", "goal"),
    [
        *((dqn, {"seed": seed}, "optimal") for seed in range(2)),
        *((maskable_ppo, {"seed": seed}, "optimal") for seed in range(4)),
        *((page, {"opponents": "self:1"}, "unbeatable") for page in CONFIGS),
        (maskable_ppo, {"opponents": "random:0.5,minimax:0.25,self:0.25"}, "unbeatable"),
        (maskable_ppo, {"symmetry": False}, "unbeatable"),
        *((page, {"rows": 2, "cols": 5}, "unbeatable") for page in CONFIGS),
    ],
)
def test_it_learns_to_be_unbeatable_or_to_reach_the_best_achievable_results(page, options, goal):
    """191/192 wins as X and 866/945 as O; an untrained network wins about half of its games.

    2x5 with three in a row is drawn with best play; it has 15,983 positions.
    """
    config = page.Config(**options)
    learner = page.begin(config)
    drive(learner, config, lambda learner: evaluate(learner.policy()).reached(goal))
    assert evaluate(learner.policy()).reached(goal)
