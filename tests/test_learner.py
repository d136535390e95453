"""The training loop, and the arrays and JSON that a learner's state becomes."""

import numpy as np
import pytest

from training.checkpoint import pack, take, unpack
from training.learner import Learner, crossed, drive
from training.options import BoardConfig


class Rounds(Learner):
    """Makes rounds of a given number of steps, and notes what it was asked for."""

    def __init__(self, size):
        self.size, self.asked = size, []

    def advance(self, most):
        self.asked.append(most)
        goal = self.steps + most
        while self.steps < goal:
            self.steps += self.size

    def policy(self):
        raise NotImplementedError

    model = state = policy

    def restore(self, model, state):
        raise NotImplementedError


def evaluated(size, steps, every, begin=0, stop_at=None):
    """The steps of the evaluations of a training, and what the learner was asked for."""
    learner, seen = Rounds(size), []
    learner.steps = begin

    def evaluate(learner):
        seen.append(learner.steps)
        return learner.steps == stop_at

    drive(learner, BoardConfig(steps=steps, judge_every=every), evaluate)
    return seen, learner.asked


@pytest.mark.parametrize(
    ("size", "steps", "every", "expected"),
    [
        (1, 10, 4, [4, 8, 10]),
        (3, 10, 4, [6, 9, 12]),
        (5, 10, 4, [5, 10]),
        (7, 20, 2, [7, 14, 21]),
        (1, 3, 100, [3]),
        (8, 16, 8, [8, 16]),
    ],
)
def test_an_evaluation_follows_every_multiple_and_the_end(size, steps, every, expected):
    assert evaluated(size, steps, every)[0] == expected


def test_a_learner_is_asked_for_no_more_than_is_left():
    assert evaluated(1, 10, 4)[1] == [4, 4, 2]
    assert evaluated(3, 10, 4)[1] == [4, 2, 1]


def test_a_training_that_continues_is_evaluated_where_one_that_never_stopped_is():
    whole = evaluated(3, 40, 4)[0]
    for begin in whole[:-1]:
        assert evaluated(3, 40, 4, begin)[0] == [at for at in whole if at > begin]


def test_a_training_of_no_steps_is_evaluated_once_and_one_ends_where_it_is_told():
    seen, asked = evaluated(1, 1, 4, begin=1)
    assert (seen, asked) == ([1], [0])
    assert evaluated(1, 100, 4, stop_at=8)[0] == [4, 8]


def test_what_is_due_is_a_function_of_the_steps_before_and_after():
    assert [crossed(0, 3, 4), crossed(3, 4, 4), crossed(4, 7, 4), crossed(7, 13, 4)] == [
        *(False, True, False, True)
    ]


# --- a state -----------------------------------------------------------------------------------------


def test_a_state_comes_back_with_its_arrays_and_generators():
    rng = np.random.default_rng(3)
    rng.random(7)
    state = {
        "table": np.arange(6.0).reshape(2, 3),
        "rng": rng,
        "pool": {"snapshots": [np.zeros(2, dtype=np.uint8), np.ones(3)], "rng": None},
        "counts": [1, 2.5, "text", True, (3, 4)],
        "empty": {},
    }
    arrays = {}
    again = unpack(pack(state, "state", arrays), arrays)
    assert set(arrays) == {*("state/table", "state/pool/snapshots/0", "state/pool/snapshots/1")}
    assert (again["table"] == state["table"]).all()
    assert again["table"].dtype == np.float64
    assert [part.tolist() for part in again["pool"]["snapshots"]] == [[0, 0], [1, 1, 1]]
    assert again["counts"] == [1, 2.5, "text", True, [3, 4]]
    assert again["empty"] == {}
    assert again["rng"].random() == rng.random()


def test_an_array_is_taken_only_if_it_fits():
    arrays = {"a": np.ones((2, 3)), "b": np.array([np.nan])}
    taken = take(arrays, "a", (2, 3), np.float64)
    taken[:] = 0
    assert (arrays["a"] == 1).all()
    for name, shape, kind, said in (
        ("a", (3, 2), None, r"a must be finite numbers of the shape \(3, 2\), got float64"),
        ("a", (2, 3), np.float32, r"finite float32 of the shape \(2, 3\), got float64"),
        ("b", (1,), None, "b must be finite"),
        ("c", (1,), None, "got nothing"),
    ):
        with pytest.raises(ValueError, match=said):
            take(arrays, name, shape, kind)


def test_a_learner_that_does_not_count_its_steps_is_stopped_and_numpys_counts_are_made_ints():
    with pytest.raises(RuntimeError, match="expected at least 4, got 0"):
        drive_once(0)
    assert type(drive_once(np.int64(3)).steps) is int


def drive_once(size):
    """A learner that was asked for four steps and made two rounds of a size."""
    learner = Rounds(size)
    learner.advance = lambda most: setattr(learner, "steps", learner.steps + 2 * size)
    drive(learner, BoardConfig(steps=10, judge_every=4), lambda learner: True)
    return learner


def test_numpys_numbers_in_a_state_are_written_as_numbers():
    assert pack({"a": np.int64(3), "b": [np.float32(0.5), np.True_]}, "state", {}) == {
        "a": 3,
        "b": [0.5, True],
    }


def test_an_array_that_is_not_finite_is_named_so():
    with pytest.raises(ValueError, match=r"got float64 .*, with NaN or infinity"):
        take({"values": np.array([0.0, -np.inf])}, "values", (2,))


def test_options_without_the_decorator_are_explained():
    class Config(BoardConfig):
        epsilon: float = 0.1

    with pytest.raises(TypeError, match=r"write @dataclass\(frozen=True\) above .*Config"):
        Config()
