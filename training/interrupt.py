"""Ctrl-C during a training: the first one asks it to stop, a second one ends it at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Self

STOPPING = (
    "stopping and saving after the next evaluation; Ctrl-C again ends at once, and keeps the last "
    "checkpoint"
)


class Interrupt:
    """Takes Ctrl-C, within a `with` block, and afterwards gives it back to its earlier handler.

    say: is told once, in a sentence, that the training will stop. is_asked: whether it should. The
    second Ctrl-C raises KeyboardInterrupt. Outside the main thread, where Python catches no
    signals, Ctrl-C stays as it is.
    """

    def __init__(self, say: Callable[[str], None]):
        self.say = say
        self.is_asked = False
        self._earlier_handler: Any = None

    def __enter__(self) -> Self:
        with suppress(ValueError):  # this is not the main thread
            self._earlier_handler = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._earlier_handler is not None:
            signal.signal(signal.SIGINT, self._earlier_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:
            raise KeyboardInterrupt
        self.is_asked = True
        self.say(STOPPING)
