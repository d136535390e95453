"""agents/maskable_ppo.py: what its network can and cannot see, that it is reproducible to the bit, and that it learns (slow)."""

from dataclasses import replace

import numpy as np
import pytest
from small_runs import saving

torch = pytest.importorskip("torch")

from sb3_contrib import MaskablePPO  # noqa: E402

from agents import maskable_ppo  # noqa: E402
from tictactoe_env.observation import observe  # noqa: E402
from tictactoe_env.opponents import make_opponent, parse_pool  # noqa: E402
from tictactoe_env.policy import TabularPolicy, one_hot, tabulate  # noqa: E402
from tictactoe_env.positions import positions_of  # noqa: E402
from tictactoe_env.rules import Rules  # noqa: E402
from training.evaluation import judge, silent  # noqa: E402
from training.files import read_tensors  # noqa: E402

RULES = Rules()
SMALL = maskable_ppo.Config(
    steps=1_024,
    num_envs=32,
    rollout_steps=4,
    hidden=(16,),
    batch_size=64,
    epochs=2,
    judge_every=256,
    snapshot_every=128,
    snapshots=3,
)
MIXED = replace(SMALL, opponents="random:0.5,minimax:0.25,self:0.25")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def boards():
    positions = positions_of(RULES)
    return positions.boards[positions.unfinished]


@pytest.fixture(scope="module")
def observations(boards):
    return torch.as_tensor(observe(boards, RULES))


def trained_a_moment(config):
    """A model after a few updates: before, the moves of the empty board, whose planes are zero, are all equally likely."""
    with torch.random.fork_rng(devices=[]):
        return maskable_ppo.build(config).learn(512)


@pytest.fixture(scope="module")
def model():
    return trained_a_moment(SMALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run with a pool of everything, saved at its last judgement: (config, table, folder)."""
    folder = tmp_path_factory.mktemp("run")
    return MIXED, maskable_ppo.train(MIXED, saving(folder)), folder


# --- configuration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"num_envs": True}, "num_envs must be a whole number of at least 1, got the bool True"),
        ({"epochs": 2.0}, "epochs must be"),
        ({"entropy_half": 0}, "entropy_half must be"),
        ({"exploring_starts": 1.5}, "exploring_starts must be a probability from 0 to 1, got 1.5"),
        ({"gae_lambda": float("nan")}, "gae_lambda must be a probability"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0, got 0.0"),
        ({"clip_range": float("inf")}, "clip_range must be a finite number above 0"),
        ({"entropy": -0.1}, "entropy must be a finite number of at least 0"),
        ({"entropy_power": float("nan")}, "entropy_power must be a finite number of at least 0"),
        ({"activation": "rellu"}, "did you mean 'relu'"),
        ({"hidden": (64, 0)}, "each of hidden must be"),
        ({"opponents": "minmax"}, "did you mean 'minimax'"),
        ({"opponents": "self:x"}, "opponents must be written as"),
        ({"k": 4}, "k must be at most|k must be a whole number from 1 to 3"),
    ],
)
def test_a_bad_configuration_is_refused_with_a_reason(wrong, words):
    with pytest.raises(ValueError, match=words):
        maskable_ppo.Config(**wrong)


# --- the task ------------------------------------------------------------------------------------------------------------


def best_answer(opponent):
    """Values of the moves (N, 9) against an opponent, by backward induction; -inf on taken cells and in finished games."""
    positions, table = positions_of(RULES), tabulate(make_opponent(opponent, RULES), RULES).by_row()
    best = np.full((len(positions), 9), -np.inf)
    for seat in (1, -1):
        values = positions.outcome_x * float(seat)
        for row in np.flatnonzero(~positions.is_over)[::-1]:
            children, free = positions.children[row], positions.children[row] >= 0
            if positions.x_to_move[row] == (seat == 1):
                best[row, free] = values[children[free]]
                values[row] = best[row].max()
            else:
                values[row] = table[row, free] @ values[children[free]]
    return best


def test_the_best_answer_to_the_default_opponent_is_at_both_limits_whichever_of_equal_moves_it_takes():
    values = best_answer(parse_pool(maskable_ppo.Config().opponents)[0][0])
    np.testing.assert_allclose(values[0, [0, 4, 1]], [0.8987, 0.8930, 0.8801], atol=5e-5)
    values = values[positions_of(RULES).unfinished]
    equal = values >= values.max(axis=1, keepdims=True) - 1e-9
    assert judge(TabularPolicy(RULES, equal / equal.sum(axis=1, keepdims=True))).optimal


def test_the_best_answer_to_random_play_can_be_beaten():
    values = best_answer("random")[positions_of(RULES).unfinished]
    figures = judge(TabularPolicy(RULES, one_hot(values.argmax(axis=1), 9)))
    assert figures.unbeatable_x
    assert not figures.unbeatable_o


# --- the network -----------------------------------------------------------------------------------------------------------


def test_boards_that_are_images_of_each_other_have_images_of_the_same_probabilities_and_the_same_value(
    model, boards, observations
):
    with torch.no_grad():
        log_probs, values = model.policy.log_probs_and_values(observations)
        for permutation in positions_of(RULES).symmetries:
            turned = torch.as_tensor(observe(boards[:, permutation], RULES))
            turned_log_probs, turned_values = model.policy.log_probs_and_values(turned)
            torch.testing.assert_close(
                turned_log_probs, log_probs[:, permutation.tolist()], rtol=0, atol=1e-5
            )
            torch.testing.assert_close(turned_values, values, rtol=0, atol=1e-5)


def test_the_empty_board_has_three_probabilities_and_without_symmetry_nine(model):
    empty = torch.zeros(1, 2, 3, 3, dtype=torch.int8)
    plain = trained_a_moment(replace(SMALL, symmetry=False))
    with torch.no_grad():
        assert len(set(model.policy.log_probs_and_values(empty)[0][0].tolist())) == 3
        assert len(set(plain.policy.log_probs_and_values(empty)[0][0].tolist())) == 9


def test_a_board_that_is_not_square_has_the_symmetries_of_its_shape():
    model = trained_a_moment(replace(SMALL, rows=2, cols=4, k=3))
    with torch.no_grad():
        log_probs = model.policy.log_probs_and_values(torch.zeros(1, 2, 2, 4, dtype=torch.int8))[0][
            0
        ].tolist()
    assert log_probs[0] == log_probs[3] == log_probs[4] == log_probs[7]
    assert len(set(log_probs)) == 2


def test_asking_for_a_batch_is_asking_for_each_board(model, observations):
    """The network is asked once for each distinct board; every board must get its own answer back."""
    some = observations[
        torch.randperm(len(observations), generator=torch.Generator().manual_seed(0))[:300]
    ]
    with torch.no_grad():
        log_probs, values = model.policy.log_probs_and_values(some)
        for i in range(len(some)):
            alone, value = model.policy.log_probs_and_values(some[i : i + 1])
            torch.testing.assert_close(alone[0], log_probs[i], rtol=0, atol=1e-5)
            torch.testing.assert_close(value[0], values[i], rtol=0, atol=1e-5)


def test_taken_cells_have_no_probability_and_are_never_chosen_with_or_without_masks(
    model, boards, observations
):
    free = boards == 0
    with torch.no_grad():
        probs = model.policy.log_probs_and_values(observations)[0].exp().numpy()
        drawn = model.policy.forward(observations)[0].numpy()
    assert (probs[~free] == 0).all()
    assert (probs[free] > 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-5)
    for masks in (None, free):
        for deterministic in (True, False):
            chosen, _ = model.predict(
                observations.numpy(), deterministic=deterministic, action_masks=masks
            )
            assert free[np.arange(len(boards)), chosen].all()
    assert free[np.arange(len(boards)), drawn].all()


def test_a_mask_can_forbid_free_cells_too(model):
    mask = np.zeros((1, 9), dtype=bool)
    mask[0, [2, 7]] = True
    empty = np.zeros((1, 2, 3, 3), dtype=np.int8)
    chosen = {int(model.predict(empty, action_masks=mask)[0][0]) for _ in range(50)}
    assert chosen == {2, 7}
    with torch.no_grad():
        _, log_prob, entropy = model.policy.evaluate_actions(
            torch.as_tensor(empty), torch.tensor([4]), mask
        )
        probs = model.policy.get_distribution(torch.as_tensor(empty), mask).distribution.probs[0]
    assert float(log_prob) < -1e7
    assert 0 < float(entropy) <= np.log(2) + 1e-6
    assert set(torch.nonzero(probs).flatten().tolist()) == {2, 7}


def test_moves_are_drawn_with_the_probabilities_that_are_reported(model):
    torch.manual_seed(0)
    planes = torch.zeros(40_000, 2, 3, 3, dtype=torch.int8)
    planes[:, 0, 1, 1] = planes[:, 1, 0, 0] = 1
    with torch.no_grad():
        actions, values, log_probs = model.policy.forward(planes)
        expected = model.policy.get_distribution(planes[:1]).distribution.probs[0]
    counted = torch.bincount(actions, minlength=9) / len(actions)
    torch.testing.assert_close(counted, expected, rtol=0, atol=4 * 0.5 / 200)
    torch.testing.assert_close(log_probs, expected.log()[actions])
    torch.testing.assert_close(values, model.policy.predict_values(planes))


def test_moves_are_evaluated_as_they_were_drawn_and_fuller_boards_have_a_lighter_entropy(
    model, observations
):
    with torch.no_grad():
        actions, values, log_probs = model.policy.forward(observations)
        again, evaluated, entropy = model.policy.evaluate_actions(observations, actions)
        plain = model.policy.get_distribution(observations).entropy()
    torch.testing.assert_close(again, values)
    torch.testing.assert_close(evaluated, log_probs)
    free = 1 - observations.flatten(1).sum(dim=1) / 9
    torch.testing.assert_close(entropy, plain * free**SMALL.entropy_power, rtol=1e-4, atol=1e-5)


def test_a_single_board_is_answered_by_a_single_move(model):
    for deterministic in (True, False):
        action, _ = model.predict(np.zeros((2, 3, 3), dtype=np.int8), deterministic=deterministic)
        assert np.shape(action) == ()
        assert 0 <= int(action) < 9


# --- schedules -------------------------------------------------------------------------------------------------------------


def test_learning_rate_and_entropy_are_halved_after_their_steps_and_do_not_depend_on_the_length_of_the_run():
    config = replace(
        SMALL, learning_rate=0.01, learning_rate_half=512, entropy=0.1, entropy_half=256
    )
    schedule = maskable_ppo.Schedule(config)
    with torch.random.fork_rng(devices=[]):
        model = maskable_ppo.build(config)
    schedule.init_callback(model)
    for steps, rate, entropy in ((0, 0.01, 0.1), (256, 0.01 / 1.5, 0.05), (512, 0.005, 0.1 / 3)):
        model.num_timesteps = steps
        schedule.on_rollout_start()
        assert model.lr_schedule(0.3) == pytest.approx(rate)
        assert model.ent_coef == pytest.approx(entropy)


def test_self_play_begins_with_the_untrained_network_and_its_copies_explore(tmp_path):
    config = replace(SMALL, steps=128, judge_every=128, opponents="self:1")
    maskable_ppo.train(config, saving(tmp_path))
    with torch.random.fork_rng(devices=[]):
        _, untrained = maskable_ppo.play(maskable_ppo.build(config), RULES)
    state, _ = read_tensors(tmp_path / "state.safetensors")
    assert [name for name in state if name.startswith("snapshot/")] == ["snapshot/0"]
    assert (state["snapshot/0"].numpy() == untrained.table).all()
    assert (untrained.table > 0).sum() > 2 * len(untrained.table)


# --- the same bytes --------------------------------------------------------------------------------------------------------


def weights(folder):
    return (folder / "model.safetensors").read_bytes(), (folder / "state.safetensors").read_bytes()


def test_training_and_loading_leave_the_global_generators_alone(run):
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    maskable_ppo.train(replace(SMALL, steps=256), silent())
    maskable_ppo.load(run[2])
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


@pytest.mark.parametrize(
    "opponents", ["minimax-slip=0.65", "random:0.5,minimax:0.25,self:0.25", "self:1"]
)
def test_a_run_that_was_interrupted_goes_on_bit_by_bit(tmp_path, opponents):
    config = replace(SMALL, opponents=opponents)
    whole = maskable_ppo.train(config, saving(tmp_path / "whole"))
    maskable_ppo.train(replace(config, steps=512), saving(tmp_path / "half"))
    rest = maskable_ppo.train(config, saving(tmp_path / "rest"), resume=tmp_path / "half")
    assert (whole.table == rest.table).all()
    assert weights(tmp_path / "whole") == weights(tmp_path / "rest")


def test_how_often_it_is_judged_changes_nothing(tmp_path):
    for every in (128, 1_000):
        maskable_ppo.train(
            replace(SMALL, judge_every=every, opponents="self:1"), saving(tmp_path / str(every))
        )
    assert weights(tmp_path / "128") == weights(tmp_path / "1000")


# --- files -------------------------------------------------------------------------------------------------------------------


def test_the_exported_zip_plays_the_same_moves_and_can_be_trained_on(run, tmp_path, observations):
    _, table, folder = run
    maskable_ppo.export_sb3(folder, tmp_path / "player.zip")
    model = MaskablePPO.load(tmp_path / "player.zip", env=maskable_ppo.build(SMALL).env)
    moves, _ = model.predict(observations.numpy(), deterministic=True)
    assert (moves == table.table.argmax(axis=1)).all()
    model.learn(128)


def test_tensorboard_events_are_written_where_a_folder_is_given(tmp_path):
    maskable_ppo.train(replace(SMALL, steps=256), silent(), logs=tmp_path)
    assert list(tmp_path.rglob("events.out.tfevents.*"))


# --- learning ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_it_reaches_both_mathematical_limits(seed):
    """191/192 wins as X, 866/945 as O, no loss to anyone; an untrained network wins about half of its games and can be beaten."""
    assert judge(maskable_ppo.train(maskable_ppo.Config(seed=seed), silent("optimal"))).optimal


@pytest.mark.slow
@pytest.mark.parametrize("opponents", ["self:1", "random:0.5,minimax:0.25,self:0.25"])
def test_other_opponents_make_it_unbeatable_too(opponents):
    """Frozen copies of itself alone, and a mixture of everything."""
    assert judge(
        maskable_ppo.train(maskable_ppo.Config(opponents=opponents), silent("unbeatable"))
    ).unbeatable


@pytest.mark.slow
def test_it_learns_without_symmetry():
    assert judge(
        maskable_ppo.train(maskable_ppo.Config(symmetry=False), silent("unbeatable"))
    ).unbeatable


@pytest.mark.slow
def test_it_learns_a_board_that_is_not_square():
    """Three in a row on two rows of five is drawn with best play; 15,983 positions."""
    assert judge(
        maskable_ppo.train(maskable_ppo.Config(rows=2, cols=5), silent("unbeatable"))
    ).unbeatable
