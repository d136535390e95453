"""Games, the menu and replays, asked and answered through streams that are no terminal."""

import contextlib
import io
import re
import shutil
import sys
import time
import types

import numpy as np
import pytest
from rich.console import Console
from small_runs import trained
from text_cases import refuses

import train
from agents import TRAINABLE
from apps.players.seat import KINDS, board_of, seat_of, with_foe
from apps.players.titles import GROUPS
from apps.terminal import talk
from apps.terminal.examine import tree_text
from apps.terminal.game import TerminalSession, seats_of
from apps.terminal.menu import Menu
from apps.terminal.picture import picture
from apps.terminal.replay import print_list, watch
from apps.terminal.talk import Talk, number, one_of, seconds
from tictactoe_env import RandomPolicy, Rules
from tictactoe_env.certificates.certificate import certify, read, write
from tictactoe_env.exact.match import action_values
from tictactoe_env.games import Game, GameStore, Participant
from tictactoe_env.games.game import parse_lines
from tictactoe_env.games.store import StoreError
from tictactoe_env.notation import parse_board
from tictactoe_env.opponents import make_opponent

LARGE = Rules(5, 5, 4)


@pytest.fixture
def store(tmp_path):
    with GameStore(tmp_path / "games.db") as opened:
        yield opened


@pytest.fixture(autouse=True)
def typed(monkeypatch):
    """Puts back the standard input, which `talking` sets."""
    monkeypatch.setattr(sys, "stdin", sys.stdin)


def talking(answers="", width=100, **settings):
    sys.stdin = io.StringIO(answers)
    return Talk(Console(file=io.StringIO(), width=width, **settings))


def said(talk):
    return talk.console.file.getvalue()


def missing(text, *words):
    """Those of the words that a text does not hold."""
    return [word for word in words if word not in text]


def played(answers, store, x="human", o="human", rules=None, seed=0, games=1, **about):
    """What was said in games with these answers."""
    talk, rules = talking("\n".join(answers.split()).replace("_", " ") + "\n"), rules or Rules()
    TerminalSession(seats_of((x, o), rules, talk), rules, talk, store, **about).play_all(
        games, seed
    )
    return said(talk)


def only(store):
    """The only game of a store."""
    (game,) = store.list()
    return game


@pytest.fixture(scope="module")
def trie(tmp_path_factory, no_charts):
    """A trie that has seen ten games."""
    folder = tmp_path_factory.mktemp("runs") / "trie-0"
    assert trained("trie", folder, "--judge-every", "10", steps=10) == 0
    return folder


DRAWN = """
       a     b     c
 ───┬─────┬─────┬─────┐
  1 │  X  │  2  │  3  │
 ───┼─────┼─────┼─────┤
  2 │  4  │  O  │  6  │
 ───┼─────┼─────┼─────┤
  3 │  7  │  8  │ [X] │
 ───┴─────┴─────┴─────┘
"""


def drawn(board=None, rules=None, last=None, **settings):
    """The picture of a board, which is empty by default."""
    rules, talk = rules or Rules(), talking(**settings)
    cells = np.zeros(rules.cells, np.int8) if board is None else parse_board(board, rules)
    talk.say(picture(cells, rules, talk.console, last))
    return re.sub(" +$", "", said(talk), flags=re.MULTILINE)


def test_the_board_has_coordinates_numbers_on_free_cells_and_the_last_move_in_brackets():
    assert drawn("X../.O./..X", last=8) == DRAWN
    assert "  1 │ X*  │ X*  │[X*] │" in drawn("XXX/OO./...", last=2)
    assert "  2 │  5  │  6  │  7  │  8  │" in drawn(rules=Rules(2, 4, 3))
    lines = drawn(rules=Rules(7, 8, 4), width=40).splitlines()
    assert max(map(len, lines)) <= 37, "the largest board fits a narrow terminal"


@pytest.mark.parametrize(
    ("understand", "bad", "good", "meaning"),
    [
        (one_of("X", "O", "random"), "Z", "x", "X"),
        (number(1, 9), "\N{SUPERSCRIPT THREE}", "", 3),
        (seconds, "nan", "2", 2.0),
    ],
)
def test_an_answer_that_is_not_understood_is_named_and_asked_again(understand, bad, good, meaning):
    talk = talking(f"{bad}\x1b\n{bad}\n{good}\n")
    assert talk.ask("well?", understand, "3") == meaning
    assert (said(talk).count("[3]"), "\x1b" in said(talk)) == (3, False)
    assert repr(bad) in said(talk)
    with pytest.raises(EOFError):
        talk.ask("well?", understand)


# --- games ------------------------------------------------------------------------------------

LONG_GAME = "b2 b1 a1 c3 a3 c1 a2"
EVERY = "1 2 3 4 5 6 7 8 9 " * 5


@pytest.mark.parametrize(
    ("x", "o", "answers", "kept"),
    [
        ("human:Ann", "human:Ben", "b2 resign", "b2, X resigned"),
        ("minimax-first", "human", "undo b2 u c3 resign", "a1 c3 c1, X resigned"),
        (
            "human",
            "human",
            f"undo b2 c1 undo undo b2 c1 undo {LONG_GAME[3:]}",
            f"{LONG_GAME}, X line",
        ),
        ("human", "minimax-first", EVERY, "a1 b2 b1 c1 a2 a3, O line"),
    ],
)
def test_a_finished_game_is_kept_with_who_played(store, x, o, answers, kept):
    text, game = played(answers, store, x, o), only(store)
    assert f"{game.text}, {game.result} {game.ended}" == kept
    assert [game.x.name, game.o.name] == [x.removeprefix("human:"), o.removeprefix("human:")]
    people = [side for side, name in zip("XO", (x, o), strict=True) if "human" in name]
    assert (game.origin, game.side) == ("human", people[0] if len(people) == 1 else None)
    assert f"python play.py --replay {game.id} --store {store.path}" in text


def test_a_game_that_is_left_is_not_kept(store):
    played("b2 quit", store)
    with pytest.raises(EOFError):
        played("b2", store)
    assert store.count() == 0


def test_values_show_what_the_player_thinks_and_the_truth_until_they_are_switched_off(store):
    text = played("values_expected b2 values quit", store, "human", "minimax-first")
    table, board = seat_of("minimax-first", Rules()).policy, parse_board("O../.X./...", Rules())
    values = action_values("X", table, RandomPolicy(), board=board)
    before, first, second, after = text.split("X, your move")[:4]
    assert "against random moves" in first
    assert not missing(second, f"  1 │  [O]  │ {values[1]:+.2f} │", f"│ {values[8]:+.2f} │\n")
    assert second.count("draw") == 7
    assert "draw" not in before + after
    text = played("b2 b1 quit", store, values="own")
    assert ("win 3" in text, "numbers:" in text) == (True, False), "people have exact results alone"
    asked = "values_own values_expected values_both quit"
    own, expected, wrong = played(asked, store, "human", "search").split("? for help): ")[1:4]
    assert ("win 1, draw 0, loss -1" in own, "against random moves" in expected) == (True, True)
    assert not missing(wrong, "'values both'", *KINDS)
    large = played("quit", store, o="search-depth=1", rules=LARGE, values="own")
    assert ("numbers:" in large, "words:" in large) == (True, False), "it is too large to solve"


def test_a_hint_names_the_moves_that_an_agent_values_most(store):
    text = played("h b1 h quit", store, "human", "search-ties=first")
    first, second = (line for line in text.splitlines() if line.startswith("Hint: "))
    assert "Search, ties=first" not in first, "its values are all the same"
    assert not missing(second, "c3", "Search, ties=first", "+0.00", "a2, b2, a3")


def test_a_battle_is_kept_game_by_game_and_counted_or_else_written_down(store):
    text, games = played("", store, "minimax", "random", seed=5, games=3), store.list()
    about = [(game.origin, game.side, game.seed) for game in games]
    assert about == [("battle", None, seed) for seed in (7, 6, 5)]
    won = sum(game.result == "X" for game in games)
    x, o = "Perfect play, unhurried (X)", "Random player (O)"
    assert f"3 games: {x} won {won}, {o} won 0, drawn {3 - won}" in text
    store.close()
    talk = talking()
    with pytest.raises(StoreError, match="closed"):
        TerminalSession(
            seats_of(("random", "random"), Rules(), talk), Rules(), talk, store
        ).play_all(1, 0)
    last = said(talk).splitlines()[-1]
    assert Game.parse(last.partition("it is: ")[2]).x == Participant("agent", "random")


# --- keys -------------------------------------------------------------------------------------


def test_keys_of_windows_have_the_same_names(monkeypatch):
    typed = list("a\0K\xe0Gq")
    console = types.SimpleNamespace(kbhit=lambda: bool(typed), getwch=lambda: typed.pop(0))
    monkeypatch.setitem(sys.modules, "msvcrt", console)
    monkeypatch.setattr(sys, "platform", "win32")
    with talk.keys() as read:
        assert [read(0.01) for _ in range(5)] == ["a", "left", "", "q", ""]


def test_a_certificate_sets_the_board(tmp_path, trie, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refuses("'humna'", "'human'"):
        seat_of("humna", Rules())
    write(certify(RandomPolicy(), "dqn", Rules(2, 3, 2)), tmp_path / "small.json")
    players = ["minimax", "human", "small.json"]
    assert board_of(players) == board_of(["best-response:small.json"]) == Rules(2, 3, 2)
    with refuses("best-response:trie"):
        with_foe(["human:Ann", "best-response"])
    assert board_of(players, Rules(2, 4, 3), gravity=True) == Rules(2, 4, 3, gravity=True)
    shutil.copytree(trie, tmp_path / "runs" / "trie-0")
    seat = seat_of("latest:trie", Rules())
    assert (seat.player.kind, seat.name, len(seat.player.source)) == ("run", "runs/trie-0", 64)
    assert seat_of("runs/trie-0/certificate.json", Rules()).player == seat.player


ABOUT = "x=human:Ann o=agent:minimax"
LAST = ("(this decided", "wins at once", "Ann (X) wins", "b1 (move 2)", "draw", "loss")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            f"{LONG_GAME} {ABOUT}",
            ["Ann (X) against Perfect play, unhurried (O)", "1 of 7: X b2: keeps", *LAST],
        ),
        (f"{LONG_GAME} o=human:human", ["unknown (X) against you (O)\n"]),
        ("a1 a1 ended=illegal", ["O a1", "taken", "illegal", "(this decided", "│X[O] │"]),
        ("ended=resigned result=X", ["0 moves", "(O) resigns", "(X) wins", "resigned a position"]),
        ("a1 board=5x5 k=4 ended=resigned result=O", ["5x5", "too large"]),
        ("a1 b1 c1 b2 a2 c2 b3 a3 ended=early", ["draw", "neither side"]),
    ],
)
def test_every_move_of_a_replay_has_its_verdict_and_the_end_a_sentence(line, words):
    talk, game = talking(), Game.parse(line)
    watch(game, talk)
    assert missing(said(talk), *words) == []
    assert said(talk).count("┬─────┐") == len(game.moves) + 1


def test_a_replay_at_a_terminal_begins_again_after_its_end_and_is_left(monkeypatch):
    typed = iter([*["right"] * 8, " ", "", "v", "q"])
    given = contextlib.nullcontext(lambda seconds: next(typed))
    monkeypatch.setattr("apps.terminal.replay.keys", lambda: given)
    talk = talking(force_terminal=True, color_system=None)
    sys.stdin.isatty = lambda: True
    watch(Game.parse(LONG_GAME), talk)
    assert not missing(said(talk).partition("move 7 of 7")[2], "before the first", "running")


def listed(store, limit=20, talk=None, **about):
    talk = talk or talking()
    print_list(store, talk, limit, **about)
    return said(talk)


def test_the_list_shows_the_newest_games_in_local_time_and_how_to_see_more(store, monkeypatch):
    """Two hours east of UTC."""
    assert "no game" in listed(store)
    old = f"{LONG_GAME} x=human:Ann time=2026-05-09T07:35:25Z"
    resigned = "a1 ended=resigned result=O board=4x4 k=3 origin=web time=2026-05-10T07:35:25Z"
    store.add_many(parse_lines([old, resigned, "b2 a1 c3 b1 a3 c1 origin=training"]))
    assert not missing(listed(store, 1), "4x4x3", "O won", "1 of 2 games", "--list 2", "--replay")
    assert "no game of Ben" in listed(store, player="Ben")
    monkeypatch.setenv("TZ", "TTT-2")
    time.tzset()
    shown = listed(store, talk=talking(width=80), player="Ann")
    monkeypatch.undo()
    time.tzset()
    assert missing(shown, "2026-05-09 09:35", "unknown", "X won", "O won") == ["O won"]


# --- the menu ---------------------------------------------------------------------------------


def menu(answers, store, rules=None, train=None, **about):
    talk = talking("\n".join(answers.split(" ")) + "\nq\n", width=80)
    Menu(rules or Rules(), talk, store, 1, train, **about).run()
    return said(talk)


def test_the_menu_is_asked_again_until_it_is_left_and_perfect_play_takes_either_side(store):
    text = menu("11 x 1 quit", store)
    assert not missing(text, "1 to 9", "'11'", "'x'")
    assert text.count("1  two players") == 2
    menu("3 sideways O resign", store)
    assert (only(store).side, only(store).x) == ("O", Participant("agent", "minimax-ties=fastest"))
    text = menu("3 X quit", store, rules=LARGE)
    assert not missing(text, "5x5", "search-seconds=2")


@pytest.mark.parametrize(
    ("choice", "rules", "opponent"),
    [
        ("2", None, "minimax-slip=0.3"),
        ("2", LARGE, "search-depth=1"),
        ("5", None, "runs/learner"),
    ],
)
def test_opponents_are_one_choice_away(store, tmp_path, monkeypatch, choice, rules, opponent):
    monkeypatch.chdir(tmp_path)
    menu(f"{choice} X resign", store, rules=rules)
    assert only(store).o.name == opponent


def test_an_apprentice_learns_from_the_games_at_its_table_and_then_from_all(
    store, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert not missing(menu("5 X", store, rules=LARGE), "3x3", "5x5", "train a trie")
    assert "Your apprentice" not in played(LONG_GAME, store)
    assert "Your apprentice" in played(EVERY, store, o="learner")
    assert "Your apprentice" in played(LONG_GAME, store)


def test_a_trained_agent_is_chosen_from_the_package_and_the_runs(
    store, tmp_path, monkeypatch, trie
):
    monkeypatch.chdir(tmp_path)
    command = "train.py maskable_ppo --board 3x4x3 --until unbeatable"
    assert command in " ".join(menu("4", store, rules=Rules(3, 4, 3)).split())
    for seed in range(20):
        shutil.copytree(trie, f"runs/trie-{seed:02}")
    (tmp_path / "runs/broken-0").mkdir()
    (tmp_path / "runs/broken-0/certificate.json").write_text("{")
    text = menu("4 1 q 4 3 19 X resign", store)
    assert not missing(
        text, "1  AlphaZero (alphazero)", "runs/broken-0", "(runs/trie-14)", "and 5 more"
    )
    assert only(store).o.name == "runs/trie-18"


@pytest.mark.parametrize(
    ("answers", "names", "told"),
    [
        ("4 gambler X resign", ["human", "dqn-duel-second"], ["latest:trie"]),
        ("4 3 search-depth=3 X resign", ["human", "search-depth=3"], []),
        ("4 nobody 99 human trie X resign", ["human", "trie"], ["'nobody'", "'99'", "'human'"]),
        ("6 parrot minimax 1 0", ["trie-tophep", "minimax"], []),
        ("6 learner latest:trie 1 0", ["runs/learner", "runs/trie-0"], ["learner, latest:trie"]),
        ("6 runs/trie-0 latest:dqn 1 1 1 0", ["runs/trie-0", "random"], ["'dqn'"]),
        ("6 mine.zip runs/trie-0 1 1 1 0", ["runs/trie-0", "random"], ["play.py --trust"]),
        (
            "4x4x4 6 learner random trie search-depth=1 1 0",
            ["random", "search-depth=1"],
            ["plays on 3x3"],
        ),
    ],
)
def test_any_player_is_named_where_one_is_asked_for(
    store, answers, names, told, tmp_path, monkeypatch, trie
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trie, "runs/trie-0")
    (tmp_path / "mine.zip").touch()
    text = menu(answers, store)
    assert [only(store).x.name, only(store).o.name] == names
    assert not missing(text, *told)


def test_every_list_of_players_fits_a_screen_and_tells_no_line_that_wins(store):
    for answers in ("4 1 q", "4 2 q", *(f"6 {group} q" for group in range(1, 6))):
        *_, screen = menu(answers, store).split("q to go back: ")[:-1]
        lines = screen.splitlines()
        assert (len(lines) <= 24, max(map(len, lines)) <= 80) == (True, True)
        assert not re.search(r"\([abc][123] ", screen)


def test_two_players_are_watched_and_replays_chosen_from_the_menu(store):
    assert "no game" in menu("7", store)
    text = menu("6 1 1 1 2 2 0", store)
    assert "2 games: Random player (X) won" in text
    places = [text.index(f"  {heading}: ") for heading, *_ in [*GROUPS.values()][:5]]
    assert places == sorted(places)
    menu("6 1 1 1 1 1", store, rules=LARGE, delay=0.0)
    assert store.count(origin="battle") == 3
    store.add_many(parse_lines([LONG_GAME]))
    assert not missing(menu("7 5 0 4", store), "'5'", "'0'", "move 7 of 7")


TRIE = list(TRAINABLE).index("trie") + 1


def test_an_agent_is_trained_from_the_menu_and_then_a_choice(
    store, tmp_path, monkeypatch, no_charts, capsys
):
    monkeypatch.chdir(tmp_path)
    text = menu("8 trie 40 4 3 runs/trie-0 O resign", store, train=train.main)
    assert "--until unbeatable --steps 40" in " ".join(text.split())
    assert "saved: runs/trie-0" in capsys.readouterr().out
    assert read("runs/trie-0").stated.training["steps"] == 40
    assert only(store).x.name == "runs/trie-0"
    assert menu(f"8 {TRIE} ", store, LARGE, train.main).count("train an agent") == 2
    assert "12 cells" in capsys.readouterr().err


def test_a_board_is_chosen_in_the_menu_by_its_size(store):
    text = menu("4x4x9 3x 2x4x3 1 a1 quit 4X5x4 4x4 2x3x3", store)
    sizes = re.findall(r"^tic-tac-toe, (\S+), (\d)", text, re.MULTILINE)
    assert sizes == [("3x3", "3"), *[("2x4", "3")] * 2, ("4x5", "4"), ("2x3", "3")]
    assert not missing(text, "k must be", "'3x'", "4x4x3", "4x4x4", "d2 or 8")


def test_the_game_tree_of_any_player_is_printed(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = menu("9 3 1  O", store)
    assert text.count("1. X ") == 9, "every move of the other side"


@pytest.mark.parametrize("size", [(3, 3, 3), (3, 4, 3), (5, 5, 4), (4, 4, 4, True)])
def test_the_tree_of_one_move_in_each_position_replies_to_all_moves_of_the_other_side(size):
    rules = Rules(*size)
    as_x, as_o = tree_text(make_opponent("search-depth=1-ties=first", rules), rules, None).split(
        "\n\n"
    )
    columns = rules.cols if rules.gravity else rules.cells
    replies = columns if rules.gravity else rules.cells - 1
    assert [as_x.count(f"{ply}. ") for ply in (1, 2, 3)] == [1, replies, replies]
    assert [as_o.count(f"{ply}. ") for ply in (1, 2)] == [columns, columns]
    assert (as_x.startswith("as X"), as_o.startswith("as O")) == (True, True)
