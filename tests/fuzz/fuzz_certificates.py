"""Certificates of drawn players, true and forged: the package and the plain verifier agree."""

import json
import lzma
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
from fuzz.damage import changed, damaged
from hypothesis import given
from hypothesis import strategies as st
from json_certificates import canonical, certified, moves_text, sealed, with_moves
from sample_players import random_table

from tictactoe_env import plain_proof
from tictactoe_env.certificates import certificate
from tictactoe_env.certificates.certificate import CertificateError, read, verify
from tictactoe_env.exact.proof import ProofLimitError
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules

SIZES = ((1, 3, 2), (2, 3, 3), (2, 3, 2), (3, 2, 3), (1, 5, 3), (2, 4, 3), (3, 3, 3))
SIZES += ((2, 3, 2, True), (3, 3, 3, True))
RESULTS = ("unbeatable", "optimal", "as_x", "as_o", "optimal_moves")
PLAYERS = ("minimax-first", "minimax", "random", None)
FOLDER = TemporaryDirectory()  # removed at the end
FILE = Path(FOLDER.name, "certificate.json")
plain_proof.Game = cache(plain_proof.Game)  # whose perfect play takes a second on 3x3


@cache
def table_of(size, player):
    """The table of a player on a board: of an opponent, or of one that moves on taken cells too."""
    rules = Rules(*size)
    if player is None:
        return random_table(rules)
    return tabulate(make_opponent(player, rules), rules)


@st.composite
def certificates(draw):
    """The certificate of a player with up to three other moves than those that it is known by."""
    size = draw(st.sampled_from(SIZES))
    known = table_of(size, draw(st.sampled_from(PLAYERS)))
    table = np.array(known.table)
    for _ in range(draw(st.integers(0, 3))):
        row = draw(st.integers(0, len(table) - 1))
        share = draw(st.sampled_from((1, 0.5, 1e-9, 1e-13)))
        cell = draw(st.integers(0, table.shape[1] - 1))
        table[row] = (1 - share) * table[row] + share * np.eye(table.shape[1])[cell]
    policy = TabularPolicy(known.rules, table)
    sides = draw(st.sampled_from((None, ("X", "O"), ("X",), ("O",))))
    most = draw(st.sampled_from((0, certificate.MOST_IN_TEXT)))  # a byte for each decision, or text
    with mock.patch.object(certificate, "MOST_IN_TEXT", most):
        if sides is not None and draw(st.booleans()):
            return canonical(policy, known.rules, sides)
        return certified(policy, "drawn", reach_only=sides is not None, sides=sides)


@st.composite
def forged(draw):
    """The bytes of a certificate with other moves, figures or entries; its digest may fit them."""
    content = draw(certificates())
    kind = draw(st.sampled_from(("moves", "results", "anything")))
    if kind == "moves" and content["format"] == 3:
        content = with_moves(content, draw(damaged(moves_text(content))))
    elif kind == "moves":
        content = with_moves(content, draw(changed(json.loads(moves_text(content)))))
    elif kind == "results":
        results = {name: content[name] for name in RESULTS if name in content}
        content = {**content, **draw(changed(results).filter(lambda made: isinstance(made, dict)))}
    else:
        content = draw(changed(content))
    if isinstance(content, dict) and draw(st.integers(0, 9)):
        with suppress(ValueError, EOFError, zlib.error, lzma.LZMAError):
            content = sealed(content)
    return json.dumps(content).encode()


def verdicts(data):
    """What the package and the plain verifier say against these bytes; None if they accept them."""
    FILE.write_bytes(data)
    found = []
    for check, refusal in (
        (lambda: verify(read(FILE)), (CertificateError, ProofLimitError)),
        (lambda: plain_proof.check(plain_proof.read(FILE)), plain_proof.Refused),
    ):
        try:
            check()
            found.append(None)
        except refusal as error:
            found.append(str(error))
    return found


UNREAD = {
    name: value
    for name, value in certified(table_of((1, 3, 2), "random"), "drawn").items()
    if name in plain_proof.UNREAD
}
CERTIFICATES = certificates().map(lambda content: json.dumps(content).encode())


@given(CERTIFICATES)
def test_a_drawn_certificate_is_accepted_by_both(data):
    assert verdicts(data) == [None, None]


@given(forged() | CERTIFICATES.flatmap(damaged))
def test_a_forged_or_damaged_certificate_is_accepted_by_both_or_by_none(data):
    package, plainly = verdicts(data)
    if package is not None and plainly is None:  # the plain verifier does not read all entries
        content = {**json.loads(data), **UNREAD}
        content.pop("training", None)
        package, plainly = verdicts(json.dumps(content).encode())
    assert (package is None) == (plainly is None), (package, plainly)
    assert package is None or package.isprintable()
