"""The window of `render_mode="human"`: Gymnasium's own, for the pictures that `render` draws."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.wrappers import HumanRendering
from numpy.typing import NDArray


class Window:
    """A window of pictures, opened by the first one. A copy opens a window of its own."""

    def __init__(self, fps: int):
        self.fps = fps
        self._source = _Picture(fps)
        self._window: Any = HumanRendering(self._source)

    def __reduce__(self) -> Any:
        return Window, (self.fps,)

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture (height, width, 3). Raises DependencyNotInstalled without pygame."""
        self._source.frame = picture
        try:
            self._window.step(None)
        except DependencyNotInstalled as error:
            raise DependencyNotInstalled(
                'render_mode="human" needs pygame: pip install "tictactoe-env[render]"'
            ) from error

    def close(self) -> None:
        """Close the window."""
        self._window.close()


class _Picture(gym.Env[None, None]):
    """What Gymnasium's window shows: the picture in `frame`."""

    render_mode = "rgb_array"
    frame: Any = None

    def __init__(self, fps: int):
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": fps}

    def step(self, action: None) -> tuple[None, float, bool, bool, dict[str, Any]]:
        return None, 0.0, False, False, {}

    def render(self) -> Any:
        return self.frame
