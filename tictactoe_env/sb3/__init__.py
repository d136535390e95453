"""For Stable-Baselines3: `pip install "tictactoe-env[sb3]"`.

    from tictactoe_env import evaluate
    from tictactoe_env.sb3 import ExactEvaluation, MaskableDQN, dqn_recipe

    model = MaskableDQN(**dqn_recipe(), seed=0)
    model.learn(200_000, callback=ExactEvaluation(stop_at="unbeatable"))
    model.save("model")
    print(evaluate(model))  # exact: all games are computed

`TicTacToeVecEnv` plays many games at once, for any algorithm. `MaskableDQN` is a DQN that leaves
illegal actions out, for any environment with `action_masks()`. `ppo_recipe` and `dqn_recipe` are
arguments of algorithms, with which they learn 3x3 in seconds. Importing this module imports
Stable-Baselines3 and torch; `tictactoe_env` alone does not.
"""

try:
    import sb3_contrib  # noqa: F401  (imports stable_baselines3 and torch)
except ModuleNotFoundError as error:
    raise ImportError(
        "tictactoe_env.sb3 needs stable-baselines3 and sb3-contrib: "
        f'pip install "tictactoe-env[sb3]" ({error})',
        name=__name__,  # then `python -m` prints one line
    ) from error

from tictactoe_env.sb3.callbacks import ExactEvaluation, SelfPlay
from tictactoe_env.sb3.maskable_buffers import (
    MaskableDictReplayBuffer,
    MaskableReplayBuffer,
    MaskableReplayBufferSamples,
)
from tictactoe_env.sb3.maskable_dqn import MaskableDQN
from tictactoe_env.sb3.maskable_policies import MaskableDQNPolicy
from tictactoe_env.sb3.recipes import dqn_recipe, ppo_recipe
from tictactoe_env.sb3.saved_model import SavedModel
from tictactoe_env.sb3.vec_env import TicTacToeVecEnv

__all__ = [
    "ExactEvaluation",
    "MaskableDQN",
    "MaskableDQNPolicy",
    "MaskableDictReplayBuffer",
    "MaskableReplayBuffer",
    "MaskableReplayBufferSamples",
    "SavedModel",
    "SelfPlay",
    "TicTacToeVecEnv",
    "dqn_recipe",
    "ppo_recipe",
]
