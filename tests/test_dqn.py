"""agents/dqn.py: what its network can and cannot see, that it is reproducible to the bit, and that it learns (slow)."""

from dataclasses import replace

import numpy as np
import pytest
from small_runs import saving

torch = pytest.importorskip("torch")

from agents import dqn  # noqa: E402
from tictactoe_env.observation import observe  # noqa: E402
from tictactoe_env.opponents import make_opponent, parse_pool  # noqa: E402
from tictactoe_env.policy import TabularPolicy, one_hot, tabulate  # noqa: E402
from tictactoe_env.positions import positions_of  # noqa: E402
from tictactoe_env.rules import Rules  # noqa: E402
from training.evaluation import judge, silent  # noqa: E402
from training.files import read_tensors  # noqa: E402

RULES = Rules()
LOWEST = torch.finfo(torch.float32).min
SMALL = dqn.Config(
    steps=1_024,
    num_envs=32,
    hidden=(16,),
    batch_size=64,
    buffer_size=512,
    learning_starts=64,
    judge_every=256,
    snapshot_every=128,
    snapshots=3,
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
    config, folder = (
        replace(SMALL, opponents="random:0.5,minimax:0.25,self:0.25"),
        tmp_path_factory.mktemp("run"),
    )
    return config, dqn.train(config, saving(folder)), folder


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
        ({"side": "o"}, "unknown side 'o'"),
        ({"output": "tan"}, "did you mean 'tanh'"),
        ({"encoding": "plane"}, "did you mean 'planes'"),
        ({"optimizer": "sdg"}, "did you mean 'sgd'"),
        ({"opening": "d1"}, '"a1" to "c3", got \'d1\''),
        ({"opening": "b2", "side": "O"}, "opening 'b2' is for a learner that plays X"),
        ({"win_reward": float("inf")}, "win_reward must be a finite number, got inf"),
        ({"discount": 1.5}, "discount must be a probability"),
        ({"epsilon_decay": -1.0}, "epsilon_decay must be a probability"),
        ({"target_every": -1}, "target_every must be a whole number of at least 0"),
        ({"k": 4}, "k must be at most"),
    ],
)
def test_a_bad_configuration_is_refused_with_a_reason(wrong, words):
    with pytest.raises(ValueError, match=words):
        dqn.Config(**wrong)


# --- the task --------------------------------------------------------------------------------------------------------------


def best_answer(opponent, loss_penalty, win=1.0, draw=0.0, discount=1.0, early_draw=False):
    """Values of the moves (N, 9) against an opponent's table, by backward induction; -inf on occupied cells and in finished games."""
    positions, table = positions_of(RULES), tabulate(make_opponent(opponent, RULES), RULES).by_row()
    best = np.full((len(positions), 9), -np.inf)
    for seat in (1, -1):
        values = np.select(
            [positions.outcome_x == seat, positions.outcome_x == -seat], [win, -loss_penalty], draw
        )
        for row in np.flatnonzero(~positions.is_over)[::-1]:
            children, free = positions.children[row], positions.children[row] >= 0
            if positions.x_to_move[row] == (seat == 1):
                best[row, free] = values[children[free]]
                values[row] = (
                    discount * best[row].max()
                )  # the opponent's reply leads here: the learner's next move
            else:
                values[row] = table[row, free] @ values[children[free]]
            if early_draw and positions.is_dead[row]:
                values[row] = draw
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


@pytest.mark.parametrize("name", dqn.PRESETS)
def test_the_best_answer_to_the_rewards_of_a_duel_is_unbeatable_as_x_but_not_as_o(name):
    config = dqn.Config(**dqn.PRESETS[name].options)
    values = best_answer(
        "random",
        config.loss_penalty,
        config.win_reward,
        config.draw_reward,
        config.discount,
        config.early_draw,
    )
    if config.opening:
        values[0, np.arange(9) != 4] = -np.inf
    figures = judge(
        TabularPolicy(RULES, one_hot(values[positions_of(RULES).unfinished].argmax(axis=1), 9))
    )
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
def test_exploration_moves_to_free_cells_only_and_tosses_a_coin_for_each_game(
    model, boards, epsilon
):
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


@pytest.mark.parametrize("name", ["", *dqn.PRESETS])
def test_the_target_takes_the_value_of_the_move_that_the_network_would_choose(monkeypatch, name):
    """One update with the loss watched: r + discount * (1 - done) * target(next)[argmax network(next)], never an occupied cell's."""
    config = duel(name, learning_starts=64) if name else SMALL
    model = dqn.build(config)
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
    expected = torch.where(moves.dones > 0, moves.rewards, config.discount * following)
    torch.testing.assert_close(seen["target"], expected)
    assert seen["target"].abs().max() < 100
    rewards = {config.win_reward, config.draw_reward, -config.loss_penalty}
    assert set(moves.rewards[moves.dones > 0].numpy().tolist()) <= set(
        np.array([*rewards], dtype=np.float32).tolist()
    )
    assert (moves.rewards[moves.dones == 0] == 0).all()


# --- the duels ---------------------------------------------------------------------------------------------------------------


def duel(name, **options):
    """A preset as a configuration, with fewer games at a time."""
    return dqn.Config(
        **{
            **dqn.PRESETS[name].options,
            "num_envs": 32,
            "batch_size": 64,
            "learning_rate": 0.01,
            "learning_rate_end": 0.01,
            **options,
        }
    )


def played(config, steps=4_000):
    """The model after some steps, and the moves in its buffer: boards and next boards (M, 9) as +1 own and -1 other, cells, rewards, ends."""
    model = dqn.build(config)
    model.learn(steps)
    buffer = model.replay_buffer
    boards, following = (
        planes[: buffer.pos].reshape(-1, 2, 9).astype(int)
        for planes in (buffer.observations, buffer.next_observations)
    )
    rewards, ends = (array[: buffer.pos].ravel() for array in (buffer.rewards, buffer.dones))
    return (
        model,
        boards[:, 0] - boards[:, 1],
        following[:, 0] - following[:, 1],
        buffer.actions[: buffer.pos].ravel(),
        rewards,
        ends > 0,
    )


@pytest.mark.parametrize("name", dqn.PRESETS)
def test_a_duel_has_the_figures_of_the_system_it_comes_from(name):
    config = dqn.Config(**dqn.PRESETS[name].options)
    assert (config.hidden, config.activation, config.output, config.encoding, config.optimizer) == (
        (27,),
        "tanh",
        "tanh",
        "grid",
        "sgd",
    )
    assert (config.buffer_size, config.learning_starts, config.discount, config.target_every) == (
        50_000,
        1_000,
        0.75,
        50_000,
    )
    assert (config.win_reward, config.draw_reward, config.loss_penalty, config.early_draw) == (
        0.999,
        0.001,
        1.0,
        True,
    )
    assert (config.epsilon, config.epsilon_end, config.epsilon_decay) == (1.0, 0.001, 0.999996)
    assert (config.opponents, config.exploring_starts) == ("random", 0.0)
    assert config.batch_size * config.gradient_steps / config.num_envs == 8  # samples of each move
    assert (config.side, config.opening) == {
        "duel-first": ("X", ""),
        "duel-second": ("O", ""),
        "duel-centre": ("X", "b2"),
    }[name]
    shapes = [tuple(parameter.shape) for parameter in dqn.build(config).q_net.parameters()]
    assert shapes == [(27, 9), (27,), (9, 27), (9,)]


def test_a_network_with_tanh_values_own_and_other_marks_with_opposite_signs(boards):
    """9-27-9 without its biases is odd: the board with the marks exchanged has the opposite values."""
    network = dqn.build(duel("duel-first", symmetry=False)).q_net
    with torch.no_grad():
        for layer in (network.q_net[0], network.q_net[2]):
            layer.bias.zero_()
        values, exchanged = (
            network(torch.as_tensor(observe(boards, RULES, seats=seat * np.ones(len(boards)))))
            for seat in (1, -1)
        )
    assert (values.abs()[values != LOWEST] < 1).all()
    free = torch.as_tensor(boards == 0)
    torch.testing.assert_close(values[free], -exchanged[free])


@pytest.mark.parametrize("name", dqn.PRESETS)
def test_losses_are_seen_and_the_next_board_is_the_one_after_the_reply(name):
    _, boards, following, cells, rewards, ends = played(duel(name))
    assert (
        {-1.0, 0.999}
        <= set(np.round(rewards[ends].astype(float), 3).tolist())
        <= {-1.0, 0.001, 0.999}
    )
    assert (rewards[~ends] == 0).all()
    moves = np.arange(len(boards))
    assert (boards[moves, cells] == 0).all()
    boards[moves, cells] = 1
    replies = (following - boards)[~ends]
    assert (np.sort(replies, axis=1) == [-1] + [0] * 8).all()  # one more mark, the other's


@pytest.mark.parametrize(
    ("name", "marks", "openings"),
    [("duel-first", 0, 1), ("duel-second", -1, 9), ("duel-centre", 0, 1)],
)
def test_one_side_is_learned_and_all_openings_of_the_other_occur(name, marks, openings):
    _, boards, *_ = played(duel(name))
    assert set(boards.sum(axis=1).tolist()) == {marks}
    assert len(np.unique(boards[np.abs(boards).sum(axis=1) == -marks], axis=0)) == openings


def test_a_learner_with_an_opening_plays_no_other_and_values_no_other():
    model, boards, _, cells, *_ = played(duel("duel-centre"), 1_500)
    empty = ~boards.any(axis=1)
    assert set(cells[empty].tolist()) == {4}
    assert set(cells[~empty].tolist()) == set(range(9)) - {4}
    values = dqn.values_of(model.policy.player, RULES).values[0]
    assert np.flatnonzero(np.isfinite(values)).tolist() == [4]
    explored = model._random_moves(np.zeros((50, 2, 3, 3), dtype=np.int8))
    assert (explored == 4).all()


def test_games_end_as_soon_as_no_line_is_open():
    _, boards, *_ = played(duel("duel-first"))
    x, o = RULES.to_bits(boards.astype(np.int8))
    assert not RULES.is_dead(x, o).any()
    _, boards, *_ = played(duel("duel-first", early_draw=False))
    x, o = RULES.to_bits(boards.astype(np.int8))
    assert RULES.is_dead(x, o).any()


def test_exploration_is_multiplied_at_each_step_down_to_its_end():
    model = dqn.build(duel("duel-first"))
    model.learn(3_200)
    assert model.exploration_rate == 0.999996**2_200
    for steps, expected in (
        (500, 1.0),
        (1_000, 1.0),
        (1_660_000, 0.999996**1_659_000),
        (2_000_000, 0.001),
    ):
        model.num_timesteps = steps
        model.explore()
        assert model.exploration_rate == expected


def test_the_network_plays_and_is_copied_to_the_target_network_now_and_then():
    config = duel("duel-first", target_every=1_600, epsilon_end=0.0, epsilon=0.0)
    first, copied, later = (played(config, steps)[0] for steps in (1_568, 1_600, 3_168))
    differing = [
        any((a != b).any() for a, b in zip(one.parameters(), other.parameters(), strict=True))
        for one, other in (
            (first.q_net_target, dqn.build(config).q_net),
            (first.q_net, first.q_net_target),
            (later.q_net_target, copied.q_net_target),
        )
    ]
    assert differing == [False, True, False]
    assert any(
        (a != b).any()
        for a, b in zip(
            copied.q_net_target.parameters(), first.q_net_target.parameters(), strict=True
        )
    )
    assert later.policy.player is later.q_net


@pytest.mark.parametrize("name", ["duel-second", "duel-centre"])
def test_a_duel_goes_on_bit_by_bit_with_its_tally(tmp_path, name):
    config = duel(name, steps=4_800, judge_every=800, target_every=800)
    notes = {"whole": [], "half": [], "rest": []}

    def noting(part):
        def report(steps, policy, save, said=None):
            save(tmp_path / part)
            notes[part].append(said)
            return False

        return report

    whole = dqn.train(config, noting("whole"))
    dqn.train(replace(config, steps=4_000), noting("half"))
    rest = dqn.train(config, noting("rest"), resume=tmp_path / "half")
    assert (whole.values == rest.values).all()
    assert (dqn.load(tmp_path / "rest").values == rest.values).all()
    assert weights(tmp_path / "whole") == weights(tmp_path / "rest")
    assert notes["whole"] == notes["half"] + notes["rest"][-1:]
    assert notes["whole"][-1]["best window"] >= notes["whole"][-1]["wins of the last 1000"] > 200
    dqn.export_sb3(tmp_path / "rest", tmp_path / "player.zip")
    model = dqn.BoardDQN.load(tmp_path / "player.zip")
    assert (dqn.values_of(model.policy.player, RULES).values == rest.values).all()


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


@pytest.mark.parametrize(
    "opponents", ["minimax-slip=0.8", "random:0.5,minimax:0.25,self:0.25", "self:1"]
)
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
    assert (
        read_tensors(tmp_path / "state.safetensors")[0]["snapshot/0"].numpy()
        == untrained.table.argmax(axis=1)
    ).all()


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


ORIGINAL = {
    "duel-first": (0.9714, 0.0234),
    "duel-second": (0.7587, 0.2233),
    "duel-centre": (0.9714, 0.0182),
}  # wins and losses of its best runs


@pytest.mark.slow
@pytest.mark.parametrize("name", dqn.PRESETS)
def test_a_duel_beats_the_system_it_comes_from(name):
    """Exact against random play, after a third of the games; an untrained network wins about half of them."""
    figures = judge(
        dqn.train(dqn.Config(**{**dqn.PRESETS[name].options, "steps": 540_000}), silent())
    )
    result, (win, loss) = figures.o if name == "duel-second" else figures.x, ORIGINAL[name]
    assert result.win > win
    assert result.loss < loss
