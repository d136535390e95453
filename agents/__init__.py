"""Agents trained on, or written for, `tictactoe_env`; used from a clone of the repository."""

TRAINABLE = {
    "maskable_ppo": "MaskablePPO of sb3-contrib: one network's policy and value for both sides, on masked moves",
    "dqn": "DQN of Stable-Baselines3 with masks and double Q-learning: one network's values for both sides",
    "tabular_q": "Q-learning in a table: a value for every position, from thousands of games at a time, for both sides",
    "tictacnet": "a network of 2,025 weights that is not told the rules: what an illegal move is worth, it learns by losing",
    "mcts": "Monte-Carlo tree search: UCT on one graph of all positions, grown from the empty board by 4,000 playouts",
    "value_net": "self-play in levels: a network learns what a board is worth from games against itself, with no other teacher",
    "neuroevolution": "a league of small networks: the best survive unchanged, the others become mutated clones of them",
    "trie": "a prefix tree of all games it has seen: learns from every game, one at a time, and never repeats a proven mistake",
}
"""What `train.py` can train, with a sentence each; the page of an agent is `agents/<name>.py`."""
