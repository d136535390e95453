"""Proofs as files: the moves of an agent with the exact results that follow from them.

`certify` makes a certificate, `write` and `read` keep it, and `verify` computes every result again.
`python -m tictactoe_env.certificates FILE` does so from a command line.
"""

from tictactoe_env.certificates.certificate import (
    certify,
    load_policy,
    policy_in,
    read,
    verify,
    write,
)
from tictactoe_env.certificates.content import Certificate, SideResults
from tictactoe_env.certificates.stated import CertificateError, Stated

__all__ = [
    "Certificate",
    "CertificateError",
    "SideResults",
    "Stated",
    "certify",
    "load_policy",
    "policy_in",
    "read",
    "verify",
    "write",
]
