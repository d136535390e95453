"""Exact results: all positions, the solution, matches, proofs and best responses."""
