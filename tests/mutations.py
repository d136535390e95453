"""Hypothesis strategies that damage a file: its bytes, or the values of its JSON."""

import copy
import json

from hypothesis import strategies as st

HOSTILE = st.builds(  # a copy, because a later change may be made in it
    copy.deepcopy,
    st.sampled_from(
        [
            *(None, True, False, 0, -1, 1, 3, 2**31, 2**63, 2**64, 10**400, 1e-400, 1e308, 0.5),
            *(float("nan"), float("inf"), "", "X", "a1", "A1", " a1", "\x1b[8m", "\0", "\ud800"),
            *("x" * 5_000, [], {}, [[]], [[[]]] * 3, {"a1": 1.0}, {"": None}, [0] * 1_000),
        ]
    ),
)


@st.composite
def damaged_bytes(draw, data):
    """Bytes with one to three changes: a flipped bit, a part that is lost, doubled or replaced."""
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        end = min(len(data), at + draw(st.sampled_from([1, 2, 4, 16, 100, 4_096])))
        kind = draw(
            st.sampled_from(["flip", "cut", "lose", "double", "replace", "insert", "digit"])
        )
        if kind == "flip":
            part = bytes([data[at] ^ 1 << draw(st.integers(0, 7))]) + data[at + 1 : end]
        elif kind == "digit":
            part = data[at:end].translate(bytes.maketrans(b"0123456789", b"1032547698"))
        else:
            new = draw(st.binary(max_size=16))
            part = {"lose": b"", "double": 2 * data[at:end], "replace": new, "cut": b""}.get(
                kind, new + data[at:end]
            )
        data = data[:at] + part + (b"" if kind == "cut" else data[end:])
    return data


@st.composite
def damaged_json(draw, value):
    """A JSON value in which one to three entries are replaced, renamed, removed or added."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        place, key = value, None
        while isinstance(place, (dict, list)) and place:
            holder, keys = place, list(place) if isinstance(place, dict) else range(len(place))
            key = draw(st.sampled_from(keys))
            place = holder[key]
            if draw(st.booleans()):
                break
        if key is None:
            return draw(HOSTILE)
        kind = draw(st.sampled_from(["replace", "remove", "rename", "copy"]))
        old = holder[key] if kind == "replace" else holder.pop(key)
        if kind == "replace":
            holder[key] = draw(HOSTILE)
        elif isinstance(holder, list):
            holder += [old, old] if kind == "copy" else []
        elif kind in ("rename", "copy"):
            name = draw(st.text(max_size=4) | st.just(f"{key} ") | st.just(key.upper()))
            holder[name] = old
            if kind == "copy":
                holder[key] = old
    return value


def as_json(value):
    """The bytes of a JSON value; NaN, infinities and lone surrogates stay what they are."""
    return json.dumps(value).encode()
