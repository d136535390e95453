"""Hypothesis strategies that damage a file: its bytes, or the values of its JSON."""

from hypothesis import strategies as st

from attack import mutations
from attack.mutations import as_json

__all__ = ["as_json", "damaged_bytes", "damaged_json"]
DRAWS = st.randoms(use_true_random=False)


def damaged_bytes(data):
    """Bytes with one to three changes: a flipped bit, a part that is lost, doubled or replaced."""
    return DRAWS.map(lambda draw: mutations.damaged_bytes(draw, data))


def damaged_json(value):
    """A JSON value in which one to three entries are replaced, renamed, removed or doubled."""
    return DRAWS.map(lambda draw: mutations.damaged_json(draw, value))
