"""The move that an answer in words means: "I take b2, since a1-c3 is blocked" means b2."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

_CELL = "(?<![a-z0-9])[a-z]{1,2}[0-9]{1,2}(?![a-z0-9])"
_PLAIN = (  # replaced one after the other, so that cues meet words, points and single spaces
    ("\u2019", "'"),
    ("\u2013", "-"),
    (r"\u2192|[-=]{1,2}>", ": "),
    (r"</[a-z]{1,20}>|\r", "\n"),
    ("<([a-z]{1,20})>", r"\n\1: "),  # <answer>b2
    (r"(?m)^[ \t]{0,9}[*+] ", "- "),
    (r"""["\u201c\u201d\u2018*_`~$\\{}\[\]|@\f \t]|(?<!\w)'|'(?!\w)""", " "),
    (" {2,}", " "),
    ("\u2014", " - "),
)
_GAP = r"[^\w,.!?;\n]{0,9}"
_START = r"(?:[.!?:;,\n\f(] ?(?:- )?|\b(?:and|but|now|that|think|so|thus|therefore|hence) )"
_KIND = "my|our|the|final|best|only|winning|correct|right|optimal|selected|chosen|strongest"
_NOUN = (
    "answer|move|action|choice|decision|response|cell|square|position|column|col|pick|play|mark"
    "|block|selection|result|solution|best|optimal|final"
)
_IS = "(?: ?[:=>-]| is| was| (?:will|would|should) be)"
_PLAY = (
    "(?:play|choose|pick|take|mark|select|go|place|put|drop|move|occupy|block)(?:e?s)?"
    "|(?:play|choos|pick|tak|mark|select|go|plac|putt|dropp|mov|block)ing"
)
_WILL = "i|we|i'll|i'd|i'm|am|will|shall|would|should|must|have to|need to|want to|going to"
_TO = (  # my move is [to take the cell] b2
    rf"(?:{_GAP}\b(?:with|for|at|in|on|into|to|the|my|a|an|it|is|play|take|mark|drop|block|go|piece"
    rf"|disc|token|[xo]|cell|square|cent(?:er|re)|corner|column|text)\b){{0,8}}{_GAP}"
)
_REST = r"[^.!?;\n]*?(?=,? (?:so|thus|therefore|hence|but|now)\b|[.!?;\n]|$)"
_ASIDES = re.compile(
    r"\([^()]*\)"
    rf"|{_CELL}(?:[-/]{_CELL})+"  # the line a1-b2-c3
    r"|[.!?;\n\f] ?(?:because|since|as|to)\b[^.!?;,\n]*,"  # Since a1 is taken,
    r"|(?:\b(?:if|when|unless|otherwise|then|after|because|since|which|while"
    r"|as (?:it|this|that|the|[xo])|to (?:block|stop|prevent|win|make|complete|threaten|avoid))"
    rf"|(?<=[\w,)] )(?:block|stopp|prevent|threaten|mak|complet|creat)ing)\b{_REST}"
)
_CUES = (  # @ is the name; the first cue that is found counts
    # 0. not b2, I don't play b2, rather than b2: this is never the move
    r"(?:\bnot|n't|\bnever|\bnor|\bneither|\binstead of|\bthan)"
    r"(?: (?:at|in|on|to|be|play|take|mark|choose|column|col))* @",
    # 1. Answer: b2, the best move for O is b2; boxed b2; Answer b2; b2 is my answer
    rf"(?:{_START}|\b(?:my|our|the) )(?:(?:{_KIND}) )*(?:{_NOUN})"
    r"(?: (?:for|here|now|in|at|this|that|the|position|board|point|i|we|me|mark|SIDE))*"
    rf"{_IS}{_TO}@|\bboxed{_TO}@|[\n\f] ?(?:final )?answer @"
    rf"|@ is (?:my|our|the) (?:(?:{_KIND}) )*(?:{_NOUN})\b",
    # 2. alone on its line, but no item of a list
    r"[\n\f](?!- )[^\w\n]*(?:cell |square )?@[^\w\n]*(?:\n|$)",
    # 3. a1 is taken, a1 loses: an aside
    r"@(?: (?:is|was|are|has|would|will|been|be|already|too))* (?:taken|occupied|full|[xo]\b|los"
    r"|fail|bad|worse|wrong|too|not\b|(?:is|does|wo|would)n't)",
    # 4. I play b2, I must block at b2, let's go with b2; b2 it is
    rf"(?:{_START}|\b(?:let me|let's|i|we|i'll|i'm|i'd) )(?:(?:{_WILL}) )*(?:{_PLAY})\b{_TO}@"
    r"|@ it is",
    # 5. so b2; O takes b2, O should play b2, O's move: b2
    rf"\b(?:so|thus|therefore|hence)\b[ ,:]*@|\bSIDE (?:(?:{_WILL}|has to) )*(?:{_PLAY})\b{_TO}@"
    rf"|\bSIDE's (?:(?:{_KIND}) )*(?:{_NOUN}){_IS}{_TO}@",
    # 6. b2. It ...; Sure! b2: it ...; O: b2.
    r"\fOPEN@ ?(?:[.!:;(\n]|- |$)",
    # 7. b2 stops X; b2, of course; but not: a1 and b2 are X
    rf"\fOPEN@(?![ ,/&]*(?:(?:and|or) )?{_CELL})",
)
_OPEN = r"(?:\W*(?:sure|okay|ok|hmm|well|yes|alright|the move|the cell|cell|player|SIDE)\b)*\W*"
_ALONE, _LOST, _WEAK, _ANYWHERE, _ASIDE = 2, 3, 7, 8, 9  # of the cues, and after them
_NEAR = 80  # characters before and after a name in which cues are sought


def named_move(
    text: str, legal: Collection[str], columns: Collection[str] = (), side: str = "[xo]"
) -> str | None:
    """The name of the cell or column that an answer means, in capitals or not; None without one.

    The move is the first of these, wherever its reasons stand:

    1. the last one that is called the answer or the move: "Answer: b2", {"move": "b2"}, "b2 is my
       choice", a box of LaTeX;
    2. the last one that is alone on its line;
    3. the last one that is said to be played: "I play b2";
    4. the last one after "so", or that `side` is said to play: "O takes b2", "O's move: b2";
    5. the one that begins the text as a sentence, "Sure! b2. It ...";
    6. the one that begins it in another way, "b2 stops X", but no list, "a1 and b2 are X";
    7. the last one that is named; if there is none, the last one in an aside.

    An aside is in parentheses, a line a1-b2-c3, "a1 is taken", "a1 loses" and the like, or follows
    "if", "because", "then" and the like; it has no move by 3 to 6. By 6 and 7 a name in `legal`
    goes before all others. "Not b2" names nothing, nor does what stands before "</think>" or the
    last 20,000 characters.

    legal: the names of legal moves or, if the board isn't known, of all. columns: where pieces
    fall, their names: "column d" and "column 4" count anywhere, "d" and "4" in 1 to 6. side: "x"
    or "o", if it is known.
    """
    text = text.lower().rpartition("</think>")[2][-20_000:]
    for sign, plain in _PLAIN:
        text = re.sub(sign, plain, text)
    text = f"\f{text}"
    asides = _ASIDES.sub(lambda aside: "@" * len(aside[0]), text)
    name_of, cues = _patterns(" ".join(columns), side)
    found = []
    for one in name_of.finditer(text):
        start, end = one.span()
        name = next(filter(None, one.groups()))
        around = f"{text[max(0, start - _NEAR) : start]}@{text[end : end + _NEAR]}"
        kind = next((kind for kind, cue in enumerate(cues) if cue.search(around)), _ANYWHERE)
        if kind == _LOST or (kind > _ALONE and asides[start] == "@"):
            kind = _ASIDE
        if kind and (kind < _ANYWHERE or one[0] not in columns):
            is_illegal = kind >= _WEAK and name not in legal
            found.append((is_illegal, kind, -start, name))
    if not found:
        return None
    return min(found)[-1]


@lru_cache(maxsize=256)
def _patterns(columns: str, side: str) -> tuple[re.Pattern[str], list[re.Pattern[str]]]:
    """The pattern of all names, and the cues; columns: all names of them, if pieces fall."""
    names = f"({_CELL})"
    if columns:
        some = f"({columns.replace(' ', '|')})"
        ends = (  # a, not "a row"; 4, not "4 in a row"
            r"(?=[^\w\n]{0,20}(?:$|\n)| ?[.,;!()-]| (?:to|as|for|because|since|blocks|wins)\b)"
        )
        gap = "(?:[ #.-]{1,3}(?:(?:number|no[.]?) )?|(?=[0-9]))"  # column no. 4, col4
        names += rf"|\bcol(?:umn)?{gap}{some}(?!\w)"
        names += rf"|(?:\b{some}(?:st|nd|rd|th)|\bthe {some})[ -]col(?:umn)?\b"
        names += rf"|(?<![a-z0-9]){some}(?![a-z0-9]){ends}"
    cues = [cue.replace("OPEN", _OPEN).replace("SIDE", side) for cue in _CUES]
    return re.compile(names), [re.compile(cue) for cue in cues]
