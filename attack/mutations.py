"""Damage to a file: to its bytes, or to the values of its JSON, drawn from a random.Random."""

from __future__ import annotations

import copy
import json
from typing import Any

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**53, 2**63, 2**64, 10**400, 1e-400, 1e308, 0.5),
    *(float("nan"), float("inf"), "", "X", "a1", "A1", " a1", "\x1b[8m", "a\nPROVEN", "\0"),
    *("\ud800", "x" * 5_000, "/dev/zero", "../../file", [], {}, [[]], [[[]]] * 3, {"a1": 1.0}),
    *({"": None}, [0] * 1_000, [60_000] * 2, {"$array": "x"}, {"$generator": {}}),
)
"""Values that a file may hold in place of its own."""

SPANS = (1, 2, 4, 16, 100, 4_096)  # bytes that one change concerns
KINDS = ("flip", "cut", "lose", "double", "replace", "insert", "digit")
OTHER_DIGITS = bytes.maketrans(b"0123456789", b"1032547698")


def damaged_bytes(draw: Any, data: bytes) -> bytes:
    """Bytes with one to three changes: a flipped bit, a part that is lost, doubled or replaced."""
    for _ in range(draw.randint(1, 3)):
        if not data:
            break
        at = draw.randrange(len(data))
        end = min(len(data), at + draw.choice(SPANS))
        kind = draw.choice(KINDS)
        new = bytes(draw.randrange(256) for _ in range(draw.randrange(17)))
        parts = {
            "flip": bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 : end],
            "cut": b"",
            "lose": b"",
            "double": 2 * data[at:end],
            "replace": new,
            "insert": new + data[at:end],
            "digit": data[at:end].translate(OTHER_DIGITS),
        }
        data = data[:at] + parts[kind] + (b"" if kind == "cut" else data[end:])
    return data


def damaged_json(draw: Any, value: Any) -> Any:
    """A JSON value in which one to three entries are replaced, renamed, removed or doubled."""
    value = copy.deepcopy(value)
    for _ in range(draw.randint(1, 3)):
        place, holder, key = value, None, None
        while isinstance(place, (dict, list)) and place:
            holder = place
            key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
            place = holder[key]
            if draw.random() < 0.5:
                break
        if holder is None:
            return copy.deepcopy(draw.choice(HOSTILE))
        _change(draw, holder, key)
    return value


def _change(draw: Any, holder: Any, key: Any) -> None:
    """Change one entry of an object or a list."""
    kind = draw.choice(("replace", "replace", "remove", "rename", "copy"))
    if kind == "replace":
        holder[key] = copy.deepcopy(draw.choice(HOSTILE))
        return
    old = holder.pop(key)
    if isinstance(holder, list):
        holder += [old, old] if kind == "copy" else []
    elif kind != "remove":
        text = str(key)
        holder[draw.choice((f"{text} ", text.upper(), text[1:], f"{text}\x1b", ""))] = old
        if kind == "copy":
            holder[key] = old


def as_json(value: Any) -> bytes:
    """The bytes of a JSON value; NaN, infinities and lone surrogates stay what they are."""
    return json.dumps(value).encode()
