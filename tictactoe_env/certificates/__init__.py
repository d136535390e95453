"""Proofs as files: certificates are made, read and verified here."""
