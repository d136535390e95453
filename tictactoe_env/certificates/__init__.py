"""Proofs as files: the moves of an agent with the exact results that follow from them.

`certify` makes a certificate, `write` and `read` keep it, and `verify` computes every result again.
`python -m tictactoe_env.certificates FILE` does so from a command line.
"""

from tictactoe_env.certificates.certificate import (
    CertificateError,
    certify,
    load_policy,
    policy_in,
    read,
    verify,
    write,
)

__all__ = ["CertificateError", "certify", "load_policy", "policy_in", "read", "verify", "write"]
