"""The events file of a run, which TensorBoard shows.

It is written in this thread, with TensorBoard's own records. A training does not need the file: if
it cannot be written, the training goes on without it.
"""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tictactoe_env.errors import printable


class Events:
    """Writes numbers over the steps of a training into an events file in a folder.

    The first error of the disk is told as a warning, and nothing is written from there on.
    """

    def __init__(self, folder: Path):
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._records = Event, RecordWriter
        self._file: IO[bytes] | None = None
        name = f"events.out.tfevents.{time.time():010.0f}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / f"{name}.{time.monotonic_ns()}"
        self._try(self._open)

    def add(self, numbers: Mapping[str, float], steps: int) -> None:
        """Add numbers by name, and flush them."""
        if self._file is not None:
            self._try(lambda: self._write(self._event_of(numbers, steps)))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            file, self._file = self._file, None
            self._try(file.close)

    def _open(self) -> None:
        self._file = open(self.path, "xb")  # noqa: SIM115 (it is open as long as the training)
        self._write(self._event(wall_time=time.time(), file_version="brain.Event:2"))

    def _event_of(self, numbers: Mapping[str, float], steps: int) -> Any:
        event = self._event(wall_time=time.time(), step=steps)
        for name, number in numbers.items():
            event.summary.value.add(tag=name, simple_value=number)
        return event

    def _write(self, event: Any) -> None:
        self._records(self._file).write(event.SerializeToString())
        assert self._file is not None
        self._file.flush()

    def _try(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except OSError as error:
            file, self._file = self._file, None
            if file is not None:
                with suppress(OSError):  # closing flushes again, and may fail again
                    file.close()
            text = (
                f"{self.path}, which TensorBoard shows, cannot be written: {error}; the training "
                "goes on without it"
            )
            warnings.warn(printable(text), stacklevel=4)
