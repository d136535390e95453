"""agents/dqn.py: what its network can and cannot see, that it is reproducible to the bit, and that it learns (slow)."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from agents import dqn  # noqa: E402
from agents.files import read_tensors  # noqa: E402
from agents.training import judge, silent  # noqa: E402
from tictactoe_env.observation import observe  # noqa: E402
from tictactoe_env.opponents import make_opponent, parse_pool  # noqa: E402
from tictactoe_env.policy import TabularPolicy, one_hot, tabulate  # noqa: E402
from tictactoe_env.positions import positions_of  # noqa: E402
from tictactoe_env.rules import Rules  # noqa: E402

RULES = Rules()
LOWEST = torch.finfo(torch.float32).min
SMALL = dqn.Config(
    steps=1_024, num_envs=32, hidden=(16,), batch_size=64, buffer_size=512, learning_starts=64, judge_every=256, snapshot_every=128, snapshots=3
)


@pytest.fixture(scope="module")
def boards():
    positions = positions_of(RULES)
    return positions.boards[positions.unfinished]


@pytest.fixture(scope="module")
def model():
    return dqn.build(SMALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run with a pool of everything, saved at its last judgement: (config, table, folder)."""
    config, folder = replace(SMALL, opponents="random:0.5,minimax:0.25,self:0.25"), tmp_path_factory.mktemp("run")
    return config, dqn.train(config, saving(folder)), folder


def saving(folder):
    def report(steps, policy, save, notes=None):
        save(folder)
        return False

    return report


# --- configuration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be"),
        ({"num_envs": True}, "num_envs must be"),
        ({"buffer_size": 10}, "buffer_size must be a whole number of at least 256, got 10"),
        ({"epsilon": 1.5}, "epsilon must be a probability"),
        ({"exploring_starts": -0.1}, "exploring_starts must be a probability"),
        ({"epsilon_end": float("nan")}, "epsilon_end must be a probability"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0"),
        ({"average": 1.1}, "average must be a number above 0 and at most 1"),
        ({"loss_penalty": -1.0}, "loss_penalty must be"),
        ({"activation": "rellu"}, "did you mean 'relu'"),
        ({"hidden": (64, 0)}, "each of hidden must be"),
        ({"opponents": "minmax"}, "did you mean 'minimax'"),
        ({"k": 4}, "k must be at most"),
    ],
)
def test_a_bad_configuration_is_refused_with_a_reason(wrong, words):
    with pytest.raises(ValueError, match=words):
        dqn.Config(**wrong)


# --- the task --------------------------------------------------------------------------------------------------------------


def best_answer(opponent, loss_penalty):
    """Values of the moves (N, 9) against an opponent's table, by backward induction; -inf on occupied cells and in finished games."""
    positions, table = positions_of(RULES), tabulate(make_opponent(opponent, RULES), RULES).by_row()
    best = np.full((len(positions), 9), -np.inf)
    for seat in (1, -1):
        results = positions.outcome_x * float(seat)
        values = np.where(results < 0, -loss_penalty, results)
        for row in np.flatnonzero(~positions.is_over)[::-1]:
            children, free = positions.children[row], positions.children[row] >= 0
            if positions.x_to_move[row] == (seat == 1):
                best[row, free] = values[children[free]]
                values[row] = best[row].max()
            else:
                values[row] = table[row, free] @ values[children[free]]
    return best


def test_the_best_answer_to_the_default_opponent_is_at_both_limits_whichever_of_equal_moves_it_takes():
    main_opponent = parse_pool(dqn.Config().opponents)[0][0]
    values = best_answer(main_opponent, dqn.Config().loss_penalty)
    np.testing.assert_allclose(values[0, [0, 4, 1]], [0.960, 0.952, 0.944], atol=5e-4)
    values = values[positions_of(RULES).unfinished]
    equal = values >= values.max(axis=1, keepdims=True) - 1e-9
    assert judge(TabularPolicy(RULES, equal / equal.sum(axis=1, keepdims=True))).optimal


def test_the_best_answer_to_random_play_at_the_usual_rewards_can_be_beaten():
    values = best_answer("random", 1.0)[positions_of(RULES).unfinished]
    figures = judge(TabularPolicy(RULES, one_hot(values.argmax(axis=1), 9)))
    assert figures.unbeatable_x
    assert not figures.unbeatable_o


# --- the network ---------------------------------------------------------------------------------------------------------


def test_boards_that_are_images_of_each_other_have_images_of_the_same_values(model, boards):
    with torch.no_grad():
        values = model.q_net(torch.as_tensor(observe(boards, RULES)))
        for permutation in positions_of(RULES).symmetries:
            turned = model.q_net(torch.as_tensor(observe(boards[:, permutation], RULES)))
            torch.testing.assert_close(turned, values[:, permutation.tolist()], rtol=0, atol=1e-6)


def test_the_empty_board_has_three_values_and_without_symmetry_nine(model):
    empty = torch.zeros(1, 2, 3, 3, dtype=torch.int8)
    with torch.no_grad():
        assert len(set(model.q_net(empty)[0].tolist())) == 3
        assert len(set(dqn.build(replace(SMALL, symmetry=False)).q_net(empty)[0].tolist())) == 9


def test_a_board_that_is_not_square_has_the_symmetries_of_its_shape():
    model = dqn.build(replace(SMALL, rows=2, cols=4, k=3))
    with torch.no_grad():
        values = model.q_net(torch.zeros(1, 2, 2, 4, dtype=torch.int8))[0].tolist()
    assert values[0] == values[3] == values[4] == values[7]
    assert len(set(values)) == 2


def test_occupied_cells_have_the_lowest_value_and_are_never_chosen(model, boards):
    observations = observe(boards, RULES)
    with torch.no_grad():
        values = model.q_net(torch.as_tensor(observations)).numpy()
    assert ((values == LOWEST) == (boards != 0)).all()
    chosen, _ = model.predict(observations, deterministic=True)
    assert (boards[np.arange(len(boards)), chosen] == 0).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_exploration_moves_to_free_cells_only_and_tosses_a_coin_for_each_game(model, boards, epsilon):
    model.exploration_rate, observations = epsilon, observe(boards, RULES)
    greedy, _ = model.predict(observations, deterministic=True)
    chosen, _ = model.predict(observations)
    assert (boards[np.arange(len(boards)), chosen] == 0).all()
    free = (boards == 0).sum(axis=1)
    expected = epsilon * (1 - 1 / free).sum()  # how many random moves are not the greedy one
    assert abs((chosen != greedy).sum() - expected) <= 4 * np.sqrt(len(boards) / 4)
    if epsilon == 0:
        assert (chosen == greedy).all()


def test_a_single_board_is_answered_by_a_single_move(model):
    model.exploration_rate = 0.5
    observation = np.zeros((2, 3, 3), dtype=np.int8)
    for deterministic in (True, False):
        action, _ = model.predict(observation, deterministic=deterministic)
        assert np.shape(action) == ()
        assert 0 <= int(action) < 9


def test_the_target_takes_the_value_of_the_move_that_the_network_would_choose(monkeypatch):
    """One update with the loss watched: r + (1 - done) * average(next)[argmax network(next)], never an occupied cell's."""
    model = dqn.build(SMALL)
    with torch.no_grad():
        for parameter in model.q_net_target.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    seen = {}

    def watched(values, target):
        seen["target"] = target
        return torch.nn.functional.l1_loss(values, target)

    monkeypatch.setattr(dqn.functional, "mse_loss", watched)
    model.learn(256)
    model.replay_buffer.rng = np.random.default_rng(7)
    moves = model.replay_buffer.sample(64)
    with torch.no_grad():
        best = model.q_net(moves.next_observations).argmax(dim=1, keepdim=True)
        following = model.q_net_target(moves.next_observations).gather(1, best)
    model.replay_buffer.rng = np.random.default_rng(7)
    model.train(1, 64)
    expected = torch.where(moves.dones > 0, moves.rewards, following)
    torch.testing.assert_close(seen["target"], expected)
    assert seen["target"].abs().max() < 100
    assert set(moves.rewards[moves.dones > 0].tolist()) <= {1.0, 0.0, -2.0}
    assert (moves.rewards[moves.dones == 0] == 0).all()


# --- the same bytes --------------------------------------------------------------------------------------------------------


def weights(folder):
    return (folder / "model.safetensors").read_bytes(), (folder / "state.safetensors").read_bytes()


def test_training_leaves_the_global_generators_alone():
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    dqn.train(replace(SMALL, steps=256), silent())
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


@pytest.mark.parametrize("opponents", ["minimax-slip=0.8", "random:0.5,minimax:0.25,self:0.25", "self:1"])
def test_a_run_that_was_interrupted_goes_on_bit_by_bit(tmp_path, opponents):
    config = replace(SMALL, opponents=opponents)
    whole = dqn.train(config, saving(tmp_path / "whole"))
    dqn.train(replace(config, steps=512), saving(tmp_path / "half"))
    rest = dqn.train(config, saving(tmp_path / "rest"), resume=tmp_path / "half")
    assert (whole.table == rest.table).all()
    assert (whole.values == rest.values).all()
    assert weights(tmp_path / "whole") == weights(tmp_path / "rest")


def test_self_play_begins_with_the_untrained_network_and_never_plays_at_random(tmp_path):
    config = replace(SMALL, steps=64, judge_every=64, opponents="self:1")
    dqn.train(config, saving(tmp_path))
    untrained = dqn.values_of(dqn.build(config).q_net, RULES)
    assert (read_tensors(tmp_path / "state.safetensors")[0]["snapshot/0"].numpy() == untrained.table.argmax(axis=1)).all()


# --- files -------------------------------------------------------------------------------------------------------------------


def test_a_saved_run_plays_the_same_table_and_knows_its_values(run, boards):
    _, table, folder = run
    loaded = dqn.load(folder)
    assert (loaded.table == table.table).all()
    assert (loaded.q_values(boards) == table.values).all()
    alone = np.concatenate([loaded.probs(boards[i : i + 1]) for i in range(0, 4520, 500)])
    assert (alone == table.table[::500]).all()


def test_the_values_of_the_empty_board_are_nine_and_of_an_occupied_cell_lowest(run):
    _, table, _ = run
    assert np.isfinite(table.q_values(np.zeros((1, 9), dtype=np.int8))).all()
    values = table.q_values(np.array([[1, 0, 0, 0, 0, 0, 0, 0, 0]]))[0]
    assert values[0] == -np.inf
    assert np.isfinite(values[1:]).all()


def test_the_exported_zip_plays_the_same_moves(run, tmp_path, boards):
    _, table, folder = run
    dqn.export_sb3(folder, tmp_path / "player.zip")
    model = dqn.BoardDQN.load(tmp_path / "player.zip")
    moves, _ = model.predict(observe(boards, RULES), deterministic=True)
    assert (moves == table.table.argmax(axis=1)).all()


def test_tensorboard_events_are_written_where_a_folder_is_given(tmp_path):
    dqn.train(replace(SMALL, steps=256), silent(), logs=tmp_path)
    assert list(tmp_path.rglob("events.out.tfevents.*"))


# --- learning ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_it_reaches_both_mathematical_limits(seed):
    """191/192 wins as X, 866/945 as O, no loss to anyone; an untrained network wins about half of its games and can be beaten."""
    assert judge(dqn.train(dqn.Config(seed=seed), silent("optimal"))).optimal


@pytest.mark.slow
def test_frozen_copies_of_itself_are_enough_to_become_unbeatable():
    assert judge(dqn.train(dqn.Config(seed=0, opponents="self:1"), silent("unbeatable"))).unbeatable


@pytest.mark.slow
def test_it_learns_a_board_that_is_not_square():
    """Three in a row on two rows of five is drawn with best play; 15,983 positions."""
    assert judge(dqn.train(dqn.Config(rows=2, cols=5), silent("unbeatable"))).unbeatable
