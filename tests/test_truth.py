"""Connect Four on 6x7: exact values wherever they are shown, or there the sentence that helps."""

import gymnasium as gym
import pytest
from consoles import printed
from rich.console import Console
from starlette.testclient import TestClient

from apps.players.gallery import Gallery
from apps.players.seat import seat_of
from apps.terminal.comparison import compare
from apps.terminal.examine import examine
from apps.terminal.menu import perfect_opponent
from apps.terminal.replay import Replay
from apps.terminal.talk import Talk
from apps.web import server
from apps.web.work import Processes
from tictactoe_env import evaluate, make_opponent
from tictactoe_env.exact import connect_four
from tictactoe_env.exact.connect_four import CONNECT_FOUR
from tictactoe_env.exact.proof import Limit
from tictactoe_env.exact.solver import solve
from tictactoe_env.games import Game, GameStore
from tictactoe_env.games.analysis import analyse, turning_point
from tictactoe_env.notation import board_text
from tictactoe_env.session import GameSession, what_decided
from tictactoe_env.text import board_prompt, positions, regret

GAME = Game.parse("d6 b6 ended=resigned result=O board=6x7 k=4 gravity=true")
BOARD = GAME.boards[-1]
PROMPT = board_prompt(BOARD, CONNECT_FOUR)
MOVES = {"board": CONNECT_FOUR.to_json(), "moves": GAME.moves}
RESIGNED = {**MOVES, "ended": "resigned", "result": "O"}


class Here(Processes):
    """No process: heavy work is done at once."""

    async def run(self, function, *arguments, is_known=None):
        return function(*arguments)


def answer(path, asked):
    with GameStore("games.db") as store:
        app = server.application(store, Gallery([]), Here())
        with TestClient(app, "http://127.0.0.1") as client:
            return client.post(f"/api/{path}", json=asked).text


def first_rewards():
    envs = gym.make_vec("tictactoe_env/ConnectFour-v0", 2, opponent="minimax-slip=0.1")
    envs.reset(seed=0)
    return envs.step([3, 3])[1]


def hint():
    return GameSession(CONNECT_FOUR, {}, {}, Talk(Console())).hint(BOARD)


def position(console):
    seat = seat_of("search-depth=1", CONNECT_FOUR)
    examine({"search": seat}, board_text(BOARD, CONNECT_FOUR), CONNECT_FOUR, console)


def replay(console):
    console.print(Replay(GAME).picture(2, console))


def minimax():
    return make_opponent("minimax", CONNECT_FOUR)


DOORS = {  # what they show, and a part of it
    "analyse": (lambda: analyse(BOARD, CONNECT_FOUR).position.text, "wins in 19"),
    "turning_point": (lambda: turning_point(GAME), "was won"),
    "what_decided": (lambda: what_decided(GAME), "was won"),
    "hint": (hint, "b5 or f6 wins in 19"),
    "position": (lambda: printed(position), "who wins in 19"),
    "replay": (lambda: printed(replay), "is lost anyway"),
    "regret": (lambda: regret([PROMPT] * 3, [*"fda"]), "[0.0, -1.0, -2.0]"),
    "positions": (lambda: positions(CONNECT_FOUR, "that matter", games=1)[0], "prompt"),
    "environment": (first_rewards, "[0. 0.]"),
    "page": (lambda: answer("analysis", {**MOVES, "truth": True}), '"text":"wins in 19"'),
    "verdicts": (lambda: answer("verdicts", RESIGNED), '"text":"wins in 21"'),
    "proof": (lambda: evaluate(minimax(), limit=Limit()), "2,000 positions"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("is_installed", [True, False])
def test_every_door_has_the_exact_values_or_says_what_would_bring_them(
    door, is_installed, monkeypatch, tmp_path
):
    if is_installed:
        pytest.importorskip("bitbully")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connect_four, "is_installed", lambda: is_installed)
    solve.cache_clear()
    show, part = DOORS[door]
    try:
        text = str(show())
    except ValueError as error:
        text = str(error)
    assert (part in text, "[connect-four]" in text) == (is_installed, not is_installed), text
    offered = Gallery([]).entry("minimax-slip=0.3").plays(CONNECT_FOUR)
    is_perfect = perfect_opponent(CONNECT_FOUR).startswith("minimax")
    assert is_perfect == offered == is_installed


def test_games_of_perfect_play_are_sampled_because_a_proof_would_ask_for_days(capsys):
    pytest.importorskip("bitbully")
    certificates, *_ = compare({"it": "minimax"}, CONNECT_FOUR, Limit(), False, 1, 0)
    assert (certificates, "bitbully" in capsys.readouterr().out) == ({}, True)
