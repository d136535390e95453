"""Players that can be chosen: seats (who plays a side of a board) and the gallery that lists them.

May import `tictactoe_env`, `training`, and `agents.module` and `agents.load`.
"""
