"""Options as data: bounds in words, refused values, typed values, saved configurations."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field
from text_cases import refuses

from training import options as kinds
from training.files import DamagedFileError
from training.options import BoardConfig, option, options_of, read_config, typed


class Config(BoardConfig):
    """One option of each kind."""

    games: Annotated[int, Field(ge=2)] = option(8, "Games.")
    hidden: kinds.Layers = option((64, 64), "Units.")
    epsilon: kinds.Share = option(0.5, "Probability.")
    learning_rate: kinds.Positive = option(0.1, "Rate.")
    initial: kinds.Finite = option(0.0, "Value.")
    rewards: tuple[kinds.Share, kinds.Share, kinds.Share] = option((1.0, 0.5, 0.0), "Rewards.")
    epsilons: kinds.Shares = option((1.0, 0.5), "Probabilities.")
    activation: Literal["relu", "tanh"] = option("relu", "Activation.")
    symmetry: bool = option(True, "Whether.")

    def check(self) -> None:
        """Raises ValueError for more units than games."""
        if self.hidden and max(self.hidden) > 1000 * self.games:
            raise ValueError("too many units for so few games")


OPTIONS = options_of(Config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seed", 2**63), ("steps", True), ("steps", 1.5), ("games", 1), ("hidden", (9000,))),
        *(("rewards", (1.0, 2.0)), ("activation", "rleu"), ("k", 4), ("initial", float("nan"))),
    ],
)
def test_a_value_out_of_its_bounds_is_refused_by_name(name, value):
    """`hidden` of 9000 are too many for 8 games."""
    with refuses(*((name,) if value != (9000,) else ("units", "games"))):
        Config(**{name: value})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *(("hidden", "128,64", (128, 64)), ("hidden", "", ()), ("steps", "1_000", 1000)),
        *(("epsilon", "1e-1", 0.1), ("rewards", "1, 0.5,0", (1.0, 0.5, 0.0))),
        *(("steps", "many", None), ("hidden", "3,x", None), ("epsilon", "2", None)),
        *(("initial", "nan", None), ("activation", "tanh", "tanh"), ("activation", "rulu", None)),
    ],
)
def test_what_is_typed_gets_the_type_of_its_option_or_is_refused(name, text, value):
    """None: it is refused."""
    with refuses(repr(text)) if value is None else nullcontext():
        assert typed(OPTIONS[name].rebuild_annotation(), text) == value
    config = Config(learning_rate=1, rewards=(1, 0, 0))  # whole numbers are numbers
    assert [repr(config.learning_rate), repr(config.rewards)] == ["1.0", "(1.0, 0.0, 0.0)"]


def test_a_saved_configuration_comes_back_and_only_steps_may_differ_from_it():
    config, path = Config(hidden=(3,), seed=5), Path("model.json")
    saved = {name: list(v) if isinstance(v, tuple) else v for name, v in config}
    assert read_config(Config, saved, path) == config
    for other, mention in (
        ([1], path),
        ({**saved, "seed": "one"}, "seed"),
        ({**saved, "hidden": 3}, "hidden"),
    ):
        with refuses(path, mention, error=DamagedFileError):
            read_config(Config, other, path)
    kinds.check_unchanged(config, config.but(steps=5), path)
    with refuses(path, "seed, hidden"):
        kinds.check_unchanged(config, config.but(seed=6, hidden=()), path)


def test_a_constant_has_a_bound_and_is_no_option():
    class Plain(BoardConfig):
        epsilon: kinds.Share = 0.3

    assert "epsilon" not in options_of(Plain)
    with refuses("epsilon"):
        Plain(epsilon=1.5)
