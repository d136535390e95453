"""Games between two players that are printed and counted."""

import io

import pytest
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer

from apps.terminal import battle
from tictactoe_env import RandomPolicy, Rules
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.notation import game_text
from tictactoe_env.rules import game_state

PERFECT = MinimaxPolicy(Rules())


@pytest.mark.parametrize("rules", [Rules(2, 4, 3), Rules(4, 5, 4)], ids=str)
def test_a_game_is_legal_to_its_end_and_the_same_for_the_same_seed(rules):
    games = [battle.play(RandomPolicy(), FixedPlayer(seed), rules, seed) for seed in range(15)]
    assert games == [battle.play(RandomPolicy(), FixedPlayer(s), rules, s) for s in range(15)]
    assert {game_state(cells, rules).ended for cells in games} <= {"line", "full"}
    assert {game_state(cells[:-1], rules).ended for cells in games} == {""}


def test_a_battle_prints_every_game_and_counts_them_and_the_players_change_sides():
    players = ("Anna", PERFECT), ("Otto", CellPlayer(0))
    console = Console(file=io.StringIO(), width=200)
    won = battle.battle(players, Rules(), 4, 0, console)
    shown = console.file.getvalue()
    for number in range(4):
        x, policy_x = players[number % 2]
        o, policy_o = players[1 - number % 2]
        text = game_text(battle.play(policy_x, policy_o, Rules(), number), Rules())
        assert f"{x} as X against {o} as O: {text}" in shown
    assert (won, shown.count("illegal move") > 0) == ({"Anna": 4}, True)
    assert "Anna won 4, Otto won 0, drawn 0" in shown
