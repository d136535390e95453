"""The environments as Gymnasium knows them: by id, through its wrappers, in a fresh process."""

import copy
import inspect
import pickle
import re
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import DependencyNotInstalled
from gymnasium.vector import AutoresetMode
from sample_players import FixedPlayer
from text_cases import refuses

import tictactoe_env
import tictactoe_env.exact
from tictactoe_env import (
    RandomPolicy,
    Rules,
    TicTacToeEnv,
    TicTacToeVectorEnv,
    best_responses,
    make_opponent,
)
from tictactoe_env.certificates import certificate
from tictactoe_env.exact import MinimaxPolicy
from tictactoe_env.opponents import options_of
from tictactoe_env.render import rgb_array
from tictactoe_env.search import MCTSPolicy, SearchPolicy

ARGUMENTS = {
    "opponent": [["random", 1], ["minimax-slip=0.1", 2.5]],
    **{"side": "alternate", "rows": 2, "cols": 3, "k": 3, "illegal": "raise"},
    **{"rewards": {"win": 2, "draw": 0.5}, "observation": "grid", "opening": "b2"},
    **{"start": "empty", "early_draw": True, "render_mode": "ansi"},
}


ID = "tictactoe_env/TicTacToe-v0"
FOUR = "tictactoe_env/ConnectFour-v0"


@pytest.mark.parametrize("env_id", [ID, FOUR, *tictactoe_env.ENVS_WITH_OPPONENT])
def test_an_id_is_known_by_its_short_name_too(env_id):
    for make in (gym.make, gym.make_vec):
        env, same = make(env_id), make(env_id.replace("/", ":"))
        assert env.unwrapped.config == same.unwrapped.config
        assert env.spec.reward_threshold == same.spec.reward_threshold
        assert (env.spec.kwargs, same.spec.id) == (same.spec.kwargs, env_id.partition("/")[2])


@pytest.mark.parametrize("env_id", [ID, "TicTacToe-v0"])
def test_an_id_makes_one_game_or_many_with_their_arguments_and_without_wrappers(env_id):
    env, many = gym.make(env_id, **ARGUMENTS), gym.make_vec(env_id, 5, **ARGUMENTS)
    assert type(env) is TicTacToeEnv, "without wrappers, so action_masks and set_opponent are there"
    assert (env.render_mode, env.spec.max_episode_steps) == ("ansi", None)
    assert env.reset(seed=0)[0].shape == (2, 3)
    assert type(many.unwrapped) is TicTacToeVectorEnv
    assert many.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = many.reset(seed=0)
    assert many.observation_space.contains(observations)
    assert infos["side"].tolist() == [1, -1, 1, -1, 1]


HUMAN = {"render_mode": "human", "opponent": "minimax-first", "side": "X"}


@pytest.mark.filterwarnings("error")
def test_the_mode_human_shows_every_board_in_a_window_also_those_of_other_sizes(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(TicTacToeEnv.metadata, "render_fps", 10_000)  # without pauses
    env, other = (gym.make("TicTacToe-v0", **HUMAN, cols=cols, k=3) for cols in (3, 4))
    other.reset(seed=0)
    for move in (lambda: env.reset(seed=0), lambda: env.step(4)):
        move()
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
        last = np.flatnonzero(env.board == -1)[-1] if env.board.any() else None
        assert (shown == rgb_array(env.board, env.rules, last=last)).all()
    assert env.render() is None
    copy.deepcopy(env).step(8)
    env.close()


def test_without_pygame_the_mode_human_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = gym.make("TicTacToe-v0", **HUMAN)
    with refuses("tictactoe-env[render]", error=DependencyNotInstalled):
        env.reset(seed=0)


def test_the_keys_1_to_9_are_the_cells_in_the_window_of_gymnasium():
    keys = gym.make("TicTacToe-v0").get_keys_to_action()
    assert keys == {(ord(str(cell + 1)),): cell for cell in range(9)}
    with refuses("4x4", "keys_to_action"):
        gym.make("TicTacToe-v0", rows=4, cols=4, k=4).get_keys_to_action()


@pytest.mark.parametrize("env_id", tictactoe_env.ENVS_WITH_OPPONENT)
def test_an_id_of_an_opponent_states_the_exact_limit(env_id):
    env = gym.make(env_id)
    opponent = make_opponent(env.spec.kwargs["opponent"], Rules())
    worst = best_responses(opponent).values()  # of the opponent on each side
    assert env.spec.reward_threshold == pytest.approx(-sum(side.value for side in worst) / 2)
    assert gym.make_vec(env_id, 2).spec.reward_threshold == env.spec.reward_threshold
    for kept in ({"observation": "planes"}, {"render_mode": "ansi"}):
        assert gym.make(env_id, **kept).spec.reward_threshold == env.spec.reward_threshold
    for other in ({"side": "X"}, {"opponent": "trie"}, {"rewards": {"win": 2}}):
        assert gym.make(env_id, **other).spec.reward_threshold is None
    assert gym.make_vec(env_id, 2, max_episode_steps=2).spec.reward_threshold is None


def test_the_registry_lists_all_ids_and_the_package_its_names():
    ids = {ID, FOUR, *tictactoe_env.ENVS_WITH_OPPONENT}
    listed = {one.id for one in gym.registry.values() if "tictactoe_env" in str(one.entry_point)}
    assert listed == ids | {env_id.partition("/")[2] for env_id in ids}
    assert set(dir(tictactoe_env)) == {"__version__", *tictactoe_env.__all__}


@pytest.mark.parametrize("package", [tictactoe_env, tictactoe_env.exact])
def test_each_public_name_is_found_in_the_module_that_type_checkers_are_told(package):
    told = re.findall(r"^    from (\S+) import (\w+) as \2$", inspect.getsource(package), re.M)
    names = set(package.__all__) - {"ENVS_WITH_OPPONENT"}
    assert {(getattr(package, name).__module__, name) for name in names} == set(told)


@pytest.mark.parametrize(
    "opponent",
    ["minimax-slip=0.25", [["random", np.float32(1)], ["self", 2.0]], "random:1,self:2", Path("c")],
    ids=["named", "pool", "text", "path"],
)
def test_a_spec_with_all_arguments_and_a_named_opponent_survives_json(opponent, tmp_path):
    if isinstance(opponent, Path):
        opponent = tmp_path / "certificate.json"
        certificate.write(certificate.certify(RandomPolicy(), "nobody", Rules(2, 3, 3)), opponent)
    numbers = {"rows": np.int8(2), "k": 3, "rewards": {"win": np.int8(2)}}
    arguments = {**ARGUMENTS, **numbers, "opponent": opponent}
    env = gym.make("TicTacToe-v0", **arguments)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert (again.spec, again.unwrapped.config) == (env.spec, env.unwrapped.config)
    vec = gym.make_vec("TicTacToe-v0", 2, autoreset_mode=AutoresetMode.DISABLED, **arguments)
    assert gym.make_vec(EnvSpec.from_json(vec.spec.to_json())).spec == vec.spec


@pytest.mark.parametrize(
    ("player", "name"),
    [
        (RandomPolicy(), "random"),
        (MinimaxPolicy(Rules(), slip=0.1), "minimax-ties=random-slip=0.1"),
        (MinimaxPolicy(Rules(), "first"), "minimax-ties=first-slip=0.0"),
        (SearchPolicy(Rules(), depth=2), "search-ties=random-depth=2-seconds=0.0"),
        # Without options "mcts" is the trained agent of this name.
        (MCTSPolicy(Rules()), "mcts-playouts=1000"),
    ],
)
def test_a_player_of_the_package_stands_in_the_spec_by_a_name_that_makes_it_again(player, name):
    env = gym.make("TicTacToe-v0", opponent=[[player, 1], ["self", 2.0]])
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec == env.spec
    (text, _), _ = env.spec.kwargs["opponent"]
    assert text.startswith(name)
    made = make_opponent(text, Rules())
    assert type(made) is type(player)
    options = options_of(type(player))
    assert [getattr(made, one) for one in options] == [getattr(player, one) for one in options]


@pytest.mark.parametrize("opponent", [FixedPlayer(8), [[FixedPlayer(8), 1], ["random", 1]]])
def test_a_spec_keeps_any_other_object_which_its_json_only_describes_with_a_warning(opponent):
    for make in (gym.make, gym.make_vec):
        spec = pickle.loads(pickle.dumps(make("TicTacToe-v0", opponent=opponent))).spec
        env = make(copy.deepcopy(spec))
        env.reset(seed=0)
        assert "FixedPlayer" in str(env.spec.kwargs)
        with pytest.warns(UserWarning, match="FixedPlayer.*register_opponent"):
            text = spec.to_json()
        with refuses("FixedPlayer"):
            make(EnvSpec.from_json(text))


def test_one_call_reaches_all_games_as_in_gymnasiums_own_vector_environments():
    kinds = ("vector_entry_point", "sync")
    native, stacked = (gym.make_vec("TicTacToe-v0", 3, vectorization_mode=kind) for kind in kinds)
    for env in (native, stacked):
        env.reset(seed=[1, 2, 3])
        masks, boards = env.call("action_masks"), env.get_attr("board")
        assert [mask.shape for mask in masks] == [board.shape for board in boards] == [(9,)] * 3
        assert all((mask == (board == 0)).all() for mask, board in zip(masks, boards, strict=True))
        assert env.call("set_opponent", "minimax") == (None,) * 3
        assert env.get_attr("rules") == (Rules(),) * 3
        with pytest.raises(AttributeError):
            env.call("nonsense")
    with pytest.warns(UserWarning, match="render"):
        assert native.unwrapped.render() is None
    native.reset(seed=[None] * 3)
    native.set_attr("render_mode", ["ansi"] * 3)
    assert native.call("render")[0].count("\n") > 2
    with refuses("render_mode"):
        native.set_attr("render_mode", ["ansi", None, None])
    with pytest.raises(AttributeError):
        native.set_attr("nonsense", 1)
