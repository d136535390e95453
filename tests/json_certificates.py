"""Certificates as JSON values, which tests forge."""

import base64
import copy
import functools
import hashlib
import json
import lzma
import zlib
from pathlib import Path

from tictactoe_env.certificates.certificate import certify, certify_reach, verify
from tictactoe_env.certificates.content import Certificate
from tictactoe_env.certificates.stated import Stated
from tictactoe_env.exact.proof import BoardReach
from tictactoe_env.policy import CanonicalPolicy
from tictactoe_env.rules import SIDES

GONE = object()


def certified(*about, **options):
    """A certificate as it is read from its file."""
    return json.loads(json.dumps(certify(*about, **options).to_json()))


def canonical(policy, rules, sides=SIDES):
    """A certificate of canonical positions, on small boards too, where `certify` makes none."""
    player = CanonicalPolicy(policy, rules)
    reaches = {side: BoardReach({side: player}, side, rules) for side in sides}
    return json.loads(json.dumps(certify_reach(reaches, Stated.of("canonical")).to_json()))


def verified(content, *about, **options):
    """What `verify` returns for a JSON value."""
    return verify(Certificate.from_json(content), *about, **options)


def changed(content, path, value):
    """A copy with another value at the end of a path such as "as_x.optimal", or without it."""
    content = copy.deepcopy(content)
    *groups, name = path.split(".", 1 if path.startswith("moves.") else -1)
    group = functools.reduce(lambda found, key: found[key], groups, content)
    group[name] = value
    if value is GONE:
        del group[name]
    return content


def moves_text(content):
    """The text or the bytes of the moves of a certificate, whose digest it has."""
    moves = content.get("moves")
    if content.get("format") == 3 and isinstance(moves, str):
        return lzma.decompress(base64.b85decode(moves))
    if isinstance(moves, str):
        return zlib.decompress(base64.b64decode(moves))
    return json.dumps(moves, sort_keys=True, separators=(",", ":")).encode()


def with_moves(content, moves):
    """The certificate with other moves, bytes or a JSON value, and the digest that it has."""
    if content["format"] == 3:
        moves = base64.b85encode(lzma.compress(moves)).decode()
    if content["format"] == 2:
        text = json.dumps(moves, separators=(",", ":"))
        moves = base64.b64encode(zlib.compress(text.encode())).decode()
    return {**content, "moves": moves}


def sealed(content):
    """The certificate with the digest of the moves that it has."""
    return {**content, "sha256_of_moves": hashlib.sha256(moves_text(content)).hexdigest()}


def write_json(content, path):
    """Write a JSON value, whatever it is; the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path
