"""Who can be asked to play: the seat of a player at a board, and the list to choose from.

Imports the package, `training`, and the agents through `agents/__init__.py` alone.
"""
