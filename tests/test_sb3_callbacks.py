"""tictactoe_env/sb3/callbacks.py: exact evaluation during training, and self-play."""

import json

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.wrappers import FlattenObservation, RescaleObservation
from sample_players import best_player, fixed_table
from sb3_contrib import QRDQN, MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor, VecNormalize
from text_cases import cases, refuses

from tictactoe_env import Rules, TabularPolicy, evaluate, exploitability, snapshot
from tictactoe_env.exact import best_responses
from tictactoe_env.exact.positions import positions_of
from tictactoe_env.observation import observe
from tictactoe_env.policy import CanonicalPolicy, FunctionPolicy, one_hot
from tictactoe_env.predict_policy import PredictPolicy
from tictactoe_env.sb3 import ExactEvaluation, MaskableDQN, SelfPlay, TicTacToeVecEnv

ID = "tictactoe_env/TicTacToe-v0"
SMALL = {"rows": 2, "cols": 3, "k": 3}  # a draw with perfect play
X_WINS = {"rows": 2, "cols": 3, "k": 2}
LARGE = {"rows": 5, "cols": 5, "k": 4}
RULES = Rules(**SMALL)
SETTINGS = {
    "PPO": (PPO, {"n_steps": 8, "batch_size": 16, "n_epochs": 2}),
    "MaskablePPO": (MaskablePPO, {"n_steps": 8, "batch_size": 16, "n_epochs": 2}),
    "DQN": (DQN, {"learning_starts": 8, "buffer_size": 200}),
    "MaskableDQN": (MaskableDQN, {"learning_starts": 8, "buffer_size": 200}),
    "QRDQN": (QRDQN, {"learning_starts": 8, "buffer_size": 200}),
}


def games(form="dummy", observation="planes", board=SMALL, **arguments):
    """Two games in one of the ways in which people make them."""
    arguments = {**board, "observation": observation, "opponent": "self", **arguments}
    if form == "native":
        return TicTacToeVecEnv(2, **arguments)
    wrapper = FlattenObservation if form == "flattened" else None
    kind = SubprocVecEnv if form == "processes" else DummyVecEnv
    options = {"wrapper_class": wrapper, "vec_env_cls": kind, "env_kwargs": arguments}
    return make_vec_env(f"tictactoe_env:{ID}", 2, seed=0, **options)


def model_of(kind, env=None, **settings):
    algorithm, usual = SETTINGS[kind]
    small = {"policy_kwargs": {"net_arch": [16]}, "seed": 0, "device": "cpu"}
    env = games() if env is None else env
    env.seed(0)
    return algorithm("MlpPolicy", env, **{**small, **usual, **settings})


def plays_alike_on_images(table):
    """True if a table on RULES has on every board the probabilities of its image, turned back."""
    boards = positions_of(RULES).boards[positions_of(RULES).unfinished]
    return np.array_equal(table.probs(boards), CanonicalPolicy(table, RULES).probs(boards))


def logged_last(folder):
    """The last row that the logger "json" of a folder has written."""
    return json.loads((folder / "progress.json").read_text().splitlines()[-1])


TRAINED = """
    PPO         | flattened | planes | plain
    QRDQN       | native    | flat   | plain
    MaskablePPO | dummy     | planes | plain
    MaskableDQN | native    | grid   | plain
    PPO         | flattened | grid   | images
    MaskablePPO | native    | flat   | images
"""


@pytest.mark.parametrize(("kind", "form", "observation", "seen"), cases(TRAINED))
def test_the_logged_results_are_those_of_evaluate(kind, form, observation, seen, tmp_path):
    """Of the best moves, or of the probabilities of the PPO with masks."""
    env = games(form, observation, symmetric=seen == "images")
    env = VecNormalize(VecMonitor(env) if form == "native" else env)
    model, best = model_of(kind, env), kind != "MaskablePPO"
    model.set_logger(configure(str(tmp_path), ["json"]))
    exact = ExactEvaluation(every=16, deterministic=best)
    model.learn(64, callback=[exact, SelfPlay(every=16)])
    table = snapshot(model, RULES, deterministic=best)
    assert plays_alike_on_images(table) == (seen == "images")
    expected = evaluate(table)
    assert exact.last.evaluation == expected
    assert exact.last.exploitability == pytest.approx(exploitability(table), abs=1e-15)
    assert exact.last.steps == 64
    written = logged_last(tmp_path)
    for side, result in (("x", expected.x), ("o", expected.o)):
        for name in ("win", "draw", "loss", "illegal"):
            assert written[f"exact/{side}_{name}"] == getattr(result, name)
        response = expected.best_responses[side.upper()]
        assert written[f"exact/{side}_loss_vs_best_response"] == response.loss
        assert written[f"exact/{side}_unbeatable"] == (not response.can_lose)
    assert written["exact/unbeatable"] == expected.unbeatable
    assert written["exact/exploitability"] == exact.last.exploitability
    assert (written["exact/x_illegal"] > 0) != ("Maskable" in kind)


@pytest.mark.parametrize(
    ("kind", "deterministic"), [("PPO", True), ("MaskablePPO", False), ("MaskableDQN", True)]
)
def test_learning_is_bit_for_bit_the_same_with_and_without_evaluation(
    kind, deterministic, tmp_path
):
    def trained(callback):
        env = VecNormalize(games())
        model = model_of(kind, env).learn(32, callback=callback)
        states = torch.get_rng_state().tolist(), np.random.random()  # noqa: NPY002
        weights = [tensor.tolist() for tensor in model.policy.state_dict().values()]
        return weights, states, env.obs_rms.mean.tolist(), env.reset().tolist()

    exact = ExactEvaluation(4, best_model_save_path=tmp_path, deterministic=deterministic)
    assert trained(exact) == trained(None)
    assert len(exact.evaluations) == 9


def test_the_best_model_is_the_best_one_seen_and_reloads_with_the_same_results(tmp_path):
    env = VecNormalize(games("native", opponent="random"))
    model = model_of("MaskablePPO", env, learning_rate=0.03)
    exact = ExactEvaluation(every=32, best_model_save_path=tmp_path / "new" / "best")
    model.learn(256, callback=exact)
    ranks = [judged.evaluation.rank() for judged in exact.evaluations]
    assert exact.best is exact.evaluations[ranks.index(max(ranks))]
    assert len(set(ranks)) > 3
    assert exact.best is not exact.last
    folder = tmp_path / "new" / "best"
    names = ["best_model.json", "best_model.zip", "best_model_vecnormalize.pkl"]
    assert sorted(path.name for path in folder.iterdir()) == names
    normalizer = VecNormalize.load(folder / names[2], games("native"))
    loaded = MaskablePPO.load(folder / names[1])
    assert loaded.num_timesteps == exact.best.steps
    loaded.set_env(normalizer)
    assert evaluate(PredictPolicy(loaded, RULES)) == exact.best.evaluation
    judged = json.loads((folder / names[0]).read_text())
    assert judged.pop("results")["exploitability"] == exact.best.exploitability
    about = {"board": SMALL, "sides": "both", "deterministic": True}
    assert judged == {"steps": exact.best.steps, **about}


def test_training_stops_at_the_best_achievable_and_at_the_goal_of_the_judged_side(tmp_path, capsys):
    def best(model):
        return best_player(RULES)

    def steps(**arguments):
        model, exact = model_of("DQN"), ExactEvaluation(10, **arguments)
        model.learn(24, callback=exact)
        assert "policy" not in arguments or exact.best is exact.evaluations[0], "equal ones"
        found = [judged.steps for judged in exact.evaluations]
        model.learn(2, callback=exact, reset_num_timesteps=False)
        assert len(exact.evaluations) > len(found), "another training ends with one, too"
        return found

    def better_as_o(model):
        by_x = positions_of(RULES).x_to_move[positions_of(RULES).unfinished, None]
        as_o = best(model) if model.num_timesteps > 10 else fixed_table(RULES)
        return TabularPolicy(RULES, np.where(by_x, best(model).table, as_o.table))

    assert steps(sides="X", policy=better_as_o) == [10, 20, 24]
    assert steps(stop_at="optimal", policy=best) == [10]
    assert steps(stop_at="unbeatable", policy=best) == [10]
    assert steps(policy=best) == [10, 20, 24]
    assert steps(stop_at="optimal") == [10, 20, 24]
    env, exact = games(board=X_WINS, side="X"), ExactEvaluation(10, "unbeatable")
    with refuses("stop_at='unbeatable'", "2x3", "O"):
        model_of("DQN", env).learn(10, callback=ExactEvaluation(stop_at="unbeatable", sides="O"))
    model, exact.verbose = model_of("DQN", env), 1
    model.set_logger(configure(str(tmp_path), ["json"]))
    model.learn(20, callback=exact)
    gain = 1 - exact.last.evaluation.best_responses["X"].value  # X wins with best play
    assert exact.last.exploitability == gain
    assert " as O" not in capsys.readouterr().out
    assert {name[:7] for name in logged_last(tmp_path) if "_win" in name} == {"exact/x"}


def test_the_schedule_counts_the_steps_of_all_games_and_continues_in_the_next_training():
    env = make_vec_env(ID, n_envs=3, env_kwargs={**SMALL, "opponent": "self"})
    model = model_of("PPO", env, n_steps=4, batch_size=12)
    exact, play = ExactEvaluation(every=10), SelfPlay(every=20)
    model.learn(24, callback=[exact, play])
    model.learn(24, callback=[exact, play], reset_num_timesteps=False)
    assert [judged.steps for judged in exact.evaluations] == [12, 21, 24, 30, 42, 48]
    assert play.added == 3
    fresh = ExactEvaluation(every=30)
    model.learn(12, callback=fresh, reset_num_timesteps=False)
    assert [judged.steps for judged in fresh.evaluations] == [60, 60]


# --- self-play ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", ["dummy", "native", pytest.param("processes", marks=pytest.mark.slow)]
)
def test_as_many_snapshots_are_kept_as_the_name_of_the_opponent_says(form):
    env = games(form, opponent=[["random", 0.5], ["self-keep=3-replace=random", 0.5]])
    model_of("PPO", env).learn(64, callback=SelfPlay(every=16))
    assert env.get_attr("self_play") == [{"keep": 3, "replace": "random", "snapshots": 3}] * 2
    env.close()


def test_snapshots_go_to_the_games_that_have_self_and_the_first_one_only_once(capsys):
    makers = [lambda name=name: gym.make(ID, opponent=name, **SMALL) for name in ("random", "self")]
    env = DummyVecEnv(makers)
    model, play = model_of("PPO", env), SelfPlay(every=1000, verbose=1)
    for _ in range(2):
        model.learn(16, callback=play)
    assert [found and found["snapshots"] for found in env.get_attr("self_play")] == [None, 1]
    assert (play.added, len(capsys.readouterr().out.splitlines())) == (1, 1)


# --- errors ---------------------------------------------------------------------------------------

ARGUMENTS = [
    (ExactEvaluation, {"every": 1e4}, "every 10000.0"),
    (ExactEvaluation, {"stop_at": "unbeaten"}, "'unbeaten' 'unbeatable'"),
    (ExactEvaluation, {"sides": "x"}, "sides 'x' 'X'"),
    (SelfPlay, {"every": True}, "every True"),
]


@pytest.mark.parametrize(("callback", "arguments", "mentions"), ARGUMENTS)
def test_wrong_arguments_are_refused(callback, arguments, mentions):
    with refuses(*mentions.split()):
        callback(**arguments)


def two_boards():
    return DummyVecEnv([lambda k=k: gym.make(ID, rows=2, cols=3, k=k) for k in (2, 3)])


def rescaled(**board):
    env = gym.make(ID, opponent="self", **board)
    return DummyVecEnv([lambda: RescaleObservation(env, np.int8(0), np.int8(2))])


STARTS = [
    (lambda: make_vec_env("CartPole-v1", 1), ExactEvaluation(), "tictactoe_env none"),
    (two_boards, ExactEvaluation(), "2x3, 2 3"),
    (lambda: games(opponent="random"), SelfPlay(), '"self"'),
    (rescaled, ExactEvaluation(policy=lambda model: model.policy), "wrapper observations"),
    (lambda: games(board=LARGE), ExactEvaluation(stop_at="optimal"), "5x5,"),
    (lambda: games(board=X_WINS), ExactEvaluation(stop_at="optimal"), "stop_at='optimal' 2x3,"),
]


@pytest.mark.parametrize(("env", "callback", "mentions"), STARTS)
def test_trainings_that_cannot_be_judged_are_refused_at_the_start(env, callback, mentions):
    model = model_of("DQN", env())
    with refuses(*mentions.split()):
        model.learn(100, callback=callback)
    assert model.num_timesteps <= 2


def test_a_saved_model_that_learned_from_images_is_evaluated_so_or_refused(tmp_path):
    env = games("native", opponent="random", symmetric=True)
    MaskablePPO("MlpPolicy", env, seed=0, n_steps=8, batch_size=16).save(tmp_path / "model")
    model = MaskablePPO.load(tmp_path / "model")
    found = evaluate(model, RULES)
    assert found == evaluate(CanonicalPolicy(PredictPolicy(model, RULES), RULES))
    assert exploitability(model, RULES) == exploitability(model, RULES, symmetric=True)
    env.set_opponent(model)
    assert plays_alike_on_images(snapshot(model, RULES))
    for judge in (evaluate, exploitability, snapshot, best_responses):
        with refuses("symmetric=True"):
            judge(model, RULES, symmetric=False)
    with pytest.raises(ValueError, match="ImageBox"):
        model.set_env(games("native"))
    plain = MaskablePPO("MlpPolicy", games("native"), seed=0, n_steps=8, batch_size=16)
    assert evaluate(plain, RULES, symmetric=True) != evaluate(plain, RULES)


def test_a_function_makes_the_policy_where_a_wrapper_changes_the_observations():
    def twice(model):
        return FunctionPolicy(lambda seen, masks: model.predict(2 * seen)[0], RULES)

    model = model_of("DQN", rescaled(**SMALL), exploration_final_eps=0, exploration_fraction=1e-9)
    exact, play = ExactEvaluation(policy=twice), SelfPlay(policy=twice)
    model.learn(16, callback=[exact, play])
    positions = positions_of(RULES)
    seen = 2 * observe(positions.boards[positions.unfinished], RULES)
    table = TabularPolicy(RULES, one_hot(model.predict(seen, deterministic=True)[0], 6))
    assert exact.last.evaluation == evaluate(table)


@pytest.mark.parametrize(
    ("rules", "sampled"),
    [(Rules(5, 5, 4), ("X", "O")), (Rules(1, 13, 3), ("O",)), (Rules(1, 17, 2), ("O",))],
    ids=str,
)
def test_on_larger_boards_the_positions_that_a_model_can_meet_are_judged_or_sampled(
    rules, sampled, capsys
):
    exact = ExactEvaluation(every=1_000, verbose=1, max_positions=10_000)
    model = model_of("MaskablePPO", games(board=rules.to_json(), opponent="random", side="X"))
    model.learn(16, callback=exact)
    found = exact.last.evaluation
    assert found.sampled == sampled
    assert ("sampled" in capsys.readouterr().out.splitlines()[-1]) == ("X" in sampled)
    if "X" not in sampled:
        assert found.x == evaluate(model, rules).x
    known = rules.cells <= 16 and -found.best_responses["X"].value
    assert exact.last.exploitability == (known or None)
