"""Options as data: bounds in words, refused values, typed values, saved configurations."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import Field
from text_cases import refuses

from training import options as kinds
from training.files import DamagedFileError
from training.options import BoardConfig, option, options_of, read_config


@dataclass(frozen=True)
class Config(BoardConfig):
    """One option of each kind."""

    games: Annotated[int, Field(ge=2)] = option(8, "Games.")
    look_ahead: Annotated[int, Field(ge=1, le=2)] = option(1, "Moves.")
    hidden: kinds.Layers = option((64, 64), "Units.")
    epsilon: kinds.Share = option(0.5, "Probability.")
    rate: kinds.PositiveShare = option(1.0, "Rate.")
    dropout: kinds.ShareBelowOne = option(0.0, "Share.")
    learning_rate: kinds.Positive = option(0.1, "Rate.")
    penalty: kinds.NotNegative = option(1.0, "Cost.")
    initial: kinds.Finite = option(0.0, "Value.")
    rewards: tuple[kinds.Share, kinds.Share, kinds.Share] = option((1.0, 0.5, 0.0), "Rewards.")
    epsilons: kinds.Shares = option((1.0, 0.5), "Probabilities.")
    activation: Literal["relu", "tanh"] = option("relu", "Activation.")
    symmetry: bool = option(True, "Whether.")
    opponents: str = option("random", "Opponents.")

    def check(self) -> None:
        """Raises ValueError for more units than games."""
        if self.hidden and max(self.hidden) > 1000 * self.games:
            raise ValueError("too many units for so few games")


OPTIONS = {known.name: known for known in options_of(Config)}


def test_a_bound_stands_once_and_is_said_in_words():
    for name, bound, expected, metavar in (
        ("seed", "at least 0", "a whole number of at least 0", "INT"),
        ("look_ahead", "from 1 to 2", "a whole number from 1 to 2", "INT"),
        ("hidden", "each from 1 to 1000000", "values separated by commas, each a", "INT,INT"),
        ("epsilon", "from 0 to 1", "a number from 0 to 1", "NUMBER"),
        ("rate", "above 0 and at most 1", "a finite number above 0 and at most 1", "NUMBER"),
        ("dropout", "from 0 to below 1", "a number from 0 to below 1", "NUMBER"),
        ("learning_rate", "above 0", "a finite number above 0", "NUMBER"),
        ("penalty", "at least 0", "a finite number of at least 0", "NUMBER"),
        ("initial", "", "a finite number", "NUMBER"),
        ("rewards", "each from 0 to 1", "3 values separated by commas, each a", "NUMBER,NUMBER"),
        ("epsilons", "each from 0 to 1", "1 or more values separated by", "NUMBER,NUMBER"),
        ("activation", "relu or tanh", "one of relu, tanh", "relu|tanh"),
        ("symmetry", "", "true or false", "TEXT"),
        ("opponents", "", "text", "TEXT"),
    ):
        known = OPTIONS[name]
        assert (known.bound, known.metavar) == (bound, metavar)
        assert known.expected.startswith(expected)


def test_values_out_of_bounds_or_that_do_not_go_together_are_refused():
    """That values out of bounds are OptionErrors is tested in test_agents.py."""
    for values, said in (
        *(({"steps": v}, f"of at least 1, got {v!r}") for v in (True, 1.5, np.int64(3))),
        ({"games": 1}, "games must be a whole number of at least 2, got 1"),
        ({"hidden": (0,)}, "each a whole number from 1 to 1000000, got (0,)"),
        ({"seed": 2**63}, "seed must be at most 9223372036854775807, got a larger number"),
        ({"hidden": [3]}, "got [3]"),
        ({"rewards": (1.0, 2.0)}, "rewards must be 3 values separated by commas"),
        ({"epsilons": ()}, "epsilons must be 1 or more values"),
        ({"activation": "rleu"}, "unknown activation 'rleu'; did you mean 'relu'?"),
        ({"hidden": (9000,)}, "too many units for so few games"),
        ({"rows": 4, "cols": 4}, "at most 12 cells"),
        ({"k": 4}, "k must be at most"),
    ):
        with refuses(said):
            Config(**values)


def test_values_get_the_type_of_their_option_and_what_is_typed_wrongly_is_refused():
    config = Config(learning_rate=1, rewards=(1, 0, 0))  # whole numbers are numbers
    assert [repr(config.learning_rate), repr(config.rewards)] == ["1.0", "(1.0, 0.0, 0.0)"]
    for name, text, value in (
        ("hidden", "128,64", (128, 64)),
        ("hidden", "", ()),
        ("steps", "1_000", 1000),
        ("epsilon", "1e-1", 0.1),
        ("rewards", "1, 0.5,0", (1.0, 0.5, 0.0)),
        ("activation", "tanh", "tanh"),
        ("opponents", "minimax:1", "minimax:1"),
    ):
        assert OPTIONS[name].parsed(text) == value
    for name, text, said in (
        ("steps", "many", "expected a whole number of at least 1, got 'many'"),
        ("hidden", "3,x", "expected values separated by commas, each a whole number"),
        ("epsilon", "2", "expected a number from 0 to 1, got '2'"),
        ("initial", "nan", "expected a finite number, got 'nan'"),
        ("activation", "rulu", "unknown value 'rulu'; did you mean 'relu'?"),
    ):
        with refuses(said):
            OPTIONS[name].parsed(text)


def test_a_saved_configuration_comes_back_and_only_steps_may_differ_from_it():
    config, path = Config(hidden=(3,), seed=5), Path("model.json")
    saved = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(config).items()}
    assert read_config(Config, saved, path) == config
    for other, said in (
        ([1], r"model\.json holds no configuration"),
        ({**saved, "seed": "one"}, "the configuration in model.json is damaged: seed must be"),
        ({**saved, "hidden": 3}, "model.json is damaged: hidden must be values"),
    ):
        with pytest.raises(DamagedFileError, match=said):
            read_config(Config, other, path)
    kinds.check_unchanged(config, replace(config, steps=5), path)
    with pytest.raises(ValueError, match="json was trained with another seed, hidden: continue"):
        kinds.check_unchanged(config, replace(config, seed=6, hidden=()), path)


def test_a_subclass_changes_default_and_sentence_and_needs_the_decorator():
    class Games(BoardConfig):
        steps: kinds.Count = option(7, "Games.")

    with pytest.raises(TypeError, match=r"write @dataclass\(frozen=True\) above .*Games"):
        Games()
    known = options_of(dataclass(frozen=True)(Games))
    names = [entry.name for entry in known]
    assert names == ["seed", "steps", "judge_every", "rows", "cols", "k"]
    assert (known[1].default, known[1].sentence) == (7, "Games.")

    @dataclass(frozen=True)
    class Plain(BoardConfig):
        epsilon: kinds.Share = 0.3

    with pytest.raises(TypeError, match=r"Plain: write epsilon as option\(default, sentence\)"):
        Plain()
