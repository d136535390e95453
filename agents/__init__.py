"""Agents trained on, or written for, `tictactoe_env`; used from a clone of the repository."""
