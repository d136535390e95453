"""placeholder"""


def ansi(board, rules, *, last=None, values=None):
    return ""


def rgb_array(board, rules, *, last=None, values=None):
    return None
