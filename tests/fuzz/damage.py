"""What strangers may send in place of a file or a value, as strategies of hypothesis."""

from hypothesis import strategies as st

SPANS = st.sampled_from((1, 2, 4, 16, 100, 4_096))  # bytes that one change concerns
HOSTILE = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**53, 2**63, 2**64, 10**400, 1e-400, 1e308, 0.5),
    *(float("nan"), float("inf"), "", "X", "a1", "A1", " a1", "\x1b[8m", "a\nPROVEN", "\0"),
    *("\ud800", "x" * 5_000, "/dev/zero", "../../file", [], {}, [[]], [[[]]] * 3, {"a1": 1.0}),
    *({"": None}, [0] * 1_000, [60_000] * 2, {"rows": 7, "cols": 7, "k": 5}, "search-depth=99"),
)
"""Values that may stand in place of others."""


@st.composite
def damaged(draw, data):
    """Bytes that are flipped, lost, doubled, replaced or cut off at one to three places."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        end = at + draw(SPANS)
        part = data[at:end]
        flipped = bytes([byte ^ 1 << draw(st.integers(0, 7)) for byte in part[:1]]) + part[1:]
        part = draw(st.sampled_from((flipped, b"", part + part)) | st.binary(max_size=16))
        data = data[:at] + part + (data[end:] if draw(st.integers(0, 9)) else b"")
    return data


@st.composite
def changed(draw, value):
    """JSON values of which one is replaced, left out, given twice or under another name."""
    if not isinstance(value, (dict, list)) or not value or draw(st.integers(0, 9)) == 9:
        is_number = isinstance(value, (int, float))
        near = [value + 1, value + 1e-6, value - 1e-6, -value] if is_number else []
        return draw(st.sampled_from([*HOSTILE, *3 * near]))
    if isinstance(value, list):
        at = draw(st.integers(0, len(value) - 1))
        parts = [[], [draw(changed(value[at]))], [value[at]] * 2]
        return [*value[:at], *draw(st.sampled_from(parts)), *value[at + 1 :]]
    name = draw(st.sampled_from(list(value)))
    rest = {key: one for key, one in value.items() if key != name}
    renamed = draw(st.sampled_from((f"{name} ", name.upper(), name[1:], f"{name}\x1b", "")))
    kinds = [{**value, name: draw(changed(value[name]))}] * 3
    return draw(st.sampled_from([*kinds, rest, {**rest, renamed: value[name]}]))
