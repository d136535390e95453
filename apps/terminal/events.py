"""The events file of a run, which TensorBoard shows.

It is written in this thread, with TensorBoard's own records. A training does not need the file: if
it cannot be written, the training goes on without it.
"""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tictactoe_env.errors import printable


class Events:
    """Writes numbers over the steps of a training into an events file in a folder.

    The first error of the disk is told as a warning, and nothing is written from there on.
    """

    def __init__(self, folder: Path):
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._records, self._has_failed = Event, RecordWriter, False
        name = f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / f"{name}.{time.monotonic_ns()}"
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))

    def add(self, numbers: Mapping[str, float], steps: int) -> None:
        """Add numbers by name."""
        event = self._event(wall_time=time.time(), step=steps)
        for name, number in numbers.items():
            event.summary.value.add(tag=name, simple_value=number)
        self._write(event)

    def _write(self, event: Any) -> None:
        if self._has_failed:
            return
        try:
            with open(self.path, "ab") as file:
                self._records(file).write(event.SerializeToString())
        except OSError as error:
            self._has_failed = True
            text = (
                f"{self.path}, which TensorBoard shows, cannot be written: {error}; the training "
                "goes on without it"
            )
            warnings.warn(printable(text), stacklevel=3)
