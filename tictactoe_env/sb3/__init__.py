"""The environment and its helpers for Stable-Baselines3: `pip install "tictactoe-env[sb3]"`.

    from sb3_contrib import MaskablePPO
    from tictactoe_env import evaluate
    from tictactoe_env.sb3 import TicTacToeVecEnv

    env = TicTacToeVecEnv(64, opponent="minimax-slip=0.5")
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=512).learn(100_000)
    print(evaluate(model))

Importing this module imports Stable-Baselines3 and torch. `tictactoe_env` itself does not.
"""

try:
    import sb3_contrib  # noqa: F401  (imports stable_baselines3 and torch)
except ModuleNotFoundError as error:
    raise ImportError(
        "tictactoe_env.sb3 needs stable-baselines3 and sb3-contrib: "
        f'pip install "tictactoe-env[sb3]" ({error})'
    ) from error

from tictactoe_env.sb3.maskable_buffers import (
    MaskableDictReplayBuffer,
    MaskableReplayBuffer,
    MaskableReplayBufferSamples,
)
from tictactoe_env.sb3.maskable_dqn import ActionMaskInfo, MaskableDQN
from tictactoe_env.sb3.maskable_policies import MaskableDQNPolicy
from tictactoe_env.sb3.vec_env import TicTacToeVecEnv

__all__ = [
    "ActionMaskInfo",
    "MaskableDQN",
    "MaskableDQNPolicy",
    "MaskableDictReplayBuffer",
    "MaskableReplayBuffer",
    "MaskableReplayBufferSamples",
    "TicTacToeVecEnv",
]
