"""Who can be asked to play: one resolver from text to player, and the seat that a player takes at a board.

It imports the package, `training`, and the agents through `agents.page` alone.
"""
