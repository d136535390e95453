"""Certificates as JSON values, which tests forge."""

import hashlib
import json
from pathlib import Path

from tictactoe_env.certificates.certificate import certify, verify
from tictactoe_env.certificates.content import Certificate


def certified(*about, **options):
    """A certificate as it is read from its file."""
    return json.loads(json.dumps(certify(*about, **options).to_json()))


def verified(content, *about, **options):
    """What `verify` returns for a JSON value."""
    return verify(Certificate.from_json(content), *about, **options)


def sealed(content):
    """The JSON value of format 1 with the digest of the moves that it has now."""
    moves = json.dumps(content["moves"], sort_keys=True, separators=(",", ":"))
    return {**content, "sha256_of_moves": hashlib.sha256(moves.encode()).hexdigest()}


def write_json(content, path):
    """Write a JSON value, whatever it is; the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path
