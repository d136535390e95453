"""The move that an answer in words means: "I take b2, since a1-c3 is blocked" means b2."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

# All repetitions are bounded, so that no text takes long to read.
_SIGN = r"""[\s"'`*_~$\\{}()\[\]<>|]"""
_SIGNS = f"{_SIGN}{{0,20}}"
_CELL = "(?<![a-z0-9])([a-z]{1,2}[0-9]{1,2})(?![a-z0-9])"
_ONE_CELL = re.compile(_CELL)
_NOUN = "answer|move|action|choice|decision|response|cell|square|position|column"
_NOT_MINE = ("/", "'s ", "'s next ", "'s last ", "'s first ", "last ", "first ", "your ", "worst ")
_LABEL = (
    "".join(f"(?<!{word})" for word in _NOT_MINE)
    + rf"\b(?:{_NOUN}){_SIGNS}(?:[:=>]|-+>|\bis\b|\b(?:will|would) be\b)"
    + rf"(?:{_SIGN}|[:=>-]|\b(?:to|at|in|on|the|is|play|take|mark|cell|square|column)\b){{0,30}}"
)
_BOXED = r"\\boxed\W{0,20}(?:text\W{0,20})?"
_IS_MINE = rf"\W{{1,20}}is (?:my|our) (?:[a-z]{{1,20}} )?(?:{_NOUN})\b"
_WHO = (
    r"(?:^|[.!?:;,\n]|\blet(?:'s| me)\b|\b(?:so|thus|therefore|hence)\b|\b(?:i|we)(?:'ll|'d|'m)?\b)"
    r"(?:\s{1,5}(?:i|we|i'll|i'm|am|will|shall|would|should|must|have to|need to|want to)){0,3}"
)
_PLAYS = (
    r"\s{0,5}\b(?:play|choose|pick|take|mark|select|go|place|put|drop|move|occupy|block"
    r"|playing|choosing|picking|taking|marking|selecting|going|placing|putting|dropping)\b"
)
_WHERE = (
    rf"(?:{_SIGN}|:|\b(?:with|for|at|in|on|into|to|the|my|a|an|mark|piece|disc|token|[xo]|cell"
    r"|square|cent(?:er|re)|corner|column)\b){0,30}"
)
_SO = r"\b(?:so|thus|therefore|hence)\b[\s,:]{0,5}"
_DOES = (
    "blocks|stops|prevents|wins|completes|takes|threatens|creates|makes|gives|is best"
    "|is the (?:best|only|right|winning|strongest|cent(?:er|re))"
)
_IS_FIRST = rf"(?={_SIGNS}(?:$|\n|[.!;\u2013\u2014]|-\s|(?:{_DOES})\b))"
_ENDS = (  # a name of one letter or number
    r"(?=[^\w\n]{0,20}(?:$|\n)|\s{0,5}[.,;!)\]}\"'`*<_]"
    r"|\s{1,5}(?:to|as|for|because|since|which|blocks|wins)\b)"
)
_REST = r"[^.!?;\n]*?(?=,\s{1,5}(?:so|thus|therefore|hence|but)\b|[.!?;\n]|$)"
_MY_REST = _REST.replace("but)", "but|i|i'll)")
_ASIDES = re.compile(
    r"\([^()]*\)"
    r"|(?:^|(?<=[.!?;\n]))\s{0,5}(?:because|since|as|to)\b[^.!?;,\n]*,"
    rf"|\b(?:if|when|unless|otherwise){_REST}"
    rf"|\b(?:because|since|which|while|instead of|rather than|as (?:it|this|that|the|[xo])\b"
    r"|to (?:block|stop|prevent|win|make|complete|threaten|avoid)\b"
    rf"|(?:block|stopp|prevent|threaten|mak|complet|creat)ing\b){_MY_REST}"
    rf"|\bnot\s{{1,5}}(?:(?:at|in|on|to|play|take)\s{{1,5}})?{_CELL}"
)


def named_move(text: str, cells: Collection[str], columns: Collection[str] = ()) -> str | None:
    """The name of the cell or column that an answer means, in capitals or not; None without one.

    An answer may give reasons before or after its move. The move is the first of these:

    1. the last one that is called the answer or the move: "Answer: b2", "my move is b2",
       {"move": "b2"}, a box of LaTeX;
    2. the last one that is alone on its line;
    3. the last one that is said to be played: "I play b2", "so b2";
    4. the one that begins the text, if a sentence or "blocks", "wins" follows: "b2. It ...";
    5. the last one that is named.

    What stands in parentheses, or after "if", "because" or "not", counts in 3 to 5 only if no move
    is left without it. What stands before "</think>" doesn't count. By 1 to 4 the name may be that
    of no cell of the board.

    columns: their names, where pieces fall: "column d" and "column 4" count anywhere, "d" and "4"
    in 1 to 3.
    """
    text = text.lower().rpartition("</think>")[2].replace("\u2019", "'")
    names = {*_ONE_CELL.findall(text)}
    if not columns and len(names) < 2:  # by whichever way
        return next(iter(names), None)
    brief = _ASIDES.sub(" ", text)
    label, alone, stated, first, anywhere = _ways(" ".join(columns))
    for way, part in (
        (label, text),
        (alone, text),
        (stated, brief),
        (first, brief),
        (anywhere, brief),
        (anywhere, text),
    ):
        found = [next(filter(None, one.groups())) for one in way.finditer(part)]
        if way is anywhere:
            found = [name for name in found if name in cells or name in columns]
        if found:
            return found[-1]
    return None


@lru_cache(maxsize=256)
def _ways(columns: str) -> list[re.Pattern[str]]:
    """The ways to name a cell, as in `named_move`; columns: all names of them, if pieces fall."""
    some = _CELL
    any_column = "(?!)"
    if columns:
        bare = columns.replace(" ", "|")
        any_column = rf"\bcol(?:umn)?(?:{_SIGN}|[:#.]){{1,20}}({bare})(?![a-z0-9])"
        some = rf"(?:{_CELL}|{any_column}|(?<![a-z0-9])({bare})(?![a-z0-9]){_ENDS})"
    edge = r"(?:[^\w\n]|_){0,20}"
    ways = (
        rf"(?:{_LABEL}|{_BOXED}){some}|{some}{_IS_MINE}",
        rf"^(?![ \t]*[-*+] ){edge}(?:cell |square )?{some}{edge}$",
        rf"(?:{_WHO}{_PLAYS}{_WHERE}|{_SO}){some}",
        rf"\A{_SIGNS}{some}{_IS_FIRST}",
        rf"{_CELL}|{any_column}",
    )
    return [re.compile(way, re.MULTILINE) for way in ways]
