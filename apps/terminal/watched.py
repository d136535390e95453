"""A training whose first pictures come slowly enough to be seen: `train.py tabular_q --watch`.

    training = WatchedRun(Path("runs/tabular_q-0"), module, config, until="unbeatable")

It learns what `Run` learns. Between the evaluations of the run there are others for the display
alone, and the seconds of the run are without the time in which a picture only stands.
"""

from __future__ import annotations

import time

from apps.terminal.progress import Display
from tictactoe_env.exact.evaluation import Evaluation
from tictactoe_env.exact.positions import TABULATED
from training.learner import Learner
from training.run import Observer, Run

PICTURE_SECONDS = 0.4  # between two pictures
SLOW_PICTURES = 100  # for which the training waits; later ones are as far apart, without a wait
PIECE_SECONDS = 0.005  # of training between two pictures, or a whole round of games


class WatchedRun(Run):
    """A run that is trained before the eyes of a person, on a display of a terminal."""

    piece_seconds = PIECE_SECONDS
    pictures = 0
    next_picture = 0.0

    def train(self, observer: Observer) -> None:
        """Train as a run does, after a picture of the player that it begins with."""
        assert isinstance(observer, Display)
        self.display = observer
        self.draw(self.learner)
        super().train(observer)

    def pause(self, learner: Learner) -> None:
        """Draw a picture if it is time for one, besides what a run does."""
        super().pause(learner)
        is_time = self.pictures < SLOW_PICTURES or time.monotonic() >= self.next_picture
        if is_time and not self.is_interrupted:
            self.draw(learner)

    def draw(self, learner: Learner) -> None:
        """Judge the learner as it is now, for a picture alone; large boards take too long."""
        if self.config.rules.cells <= TABULATED:
            self.wait()
            policy = learner.policy()
            results = self._judged(policy)
            self.display.draw(learner.steps, self.seconds, learner.notes(), results, policy)

    def judge(self) -> Evaluation:
        """Evaluate as a run does, after the last picture was seen."""
        self.wait()
        return super().judge()

    def wait(self) -> None:
        """Wait until the last picture has been shown for long enough."""
        left = self.next_picture - time.monotonic()
        if left > 0 and self.pictures < SLOW_PICTURES and not self.is_interrupted:
            time.sleep(left)
            self._began += left
        self.pictures += 1
        self.next_picture = time.monotonic() + PICTURE_SECONDS
