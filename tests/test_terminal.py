"""Games, the menu and replays, asked and answered through streams that are no terminal."""

import io
import os
import shutil
import sys
import threading
import time
import types

import numpy as np
import pytest
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer
from small_runs import trained
from text_cases import refuses

import agents
from agents import TRAINABLE
from agents.trie import TrieLearner
from players.gallery import BUILT_IN
from players.seat import Seat, board_of, path_of, seat_of
from terminal import battle
from terminal.game import COMMANDS, Table, seats_of
from terminal.keys import Keys
from terminal.menu import Menu
from terminal.picture import Line, picture
from terminal.picture import number as number_text
from terminal.replay import Replay, print_list, watch
from terminal.talk import Talk, number, one_of, seconds
from terminal.tree import MAX_LINES, tree_text
from tictactoe_env import Game, GameStore, Player, RandomPolicy, Rules
from tictactoe_env.certificate import certify, load_policy, read, write
from tictactoe_env.match import action_values
from tictactoe_env.notation import parse_board
from tictactoe_env.policy import MinimaxPolicy
from tictactoe_env.store import StoreError
from tictactoe_env.trained import trained_names

EMPTY = np.zeros(9, dtype=np.int8)
LARGE = Rules(5, 5, 4)


@pytest.fixture
def store(tmp_path):
    with GameStore(tmp_path / "games.db") as opened:
        yield opened


def talking(answers="", width=100, **settings):
    return Talk(Console(file=io.StringIO(), width=width, **settings), io.StringIO(answers))


def said(talk):
    return talk.console.file.getvalue()


def missing(text, *words):
    """Those of the words that a text does not hold."""
    return [word for word in words if word not in text]


def played(answers, store, x="human", o="human", rules=None, seed=0, games=1, **about):
    """What was said in games with these answers; `cell` as O always marks the first cell."""
    talk, rules = talking("\n".join(answers.split()).replace("_", " ") + "\n"), rules or Rules()
    seats = seats_of((x, "human" if o == "cell" else o), rules, talk)
    if o == "cell":
        seats["O"] = Seat(Player("agent", "cell"), rules, CellPlayer(0))
    Table(seats, rules, talk, store, **about).play_all(games, seed)
    return said(talk)


def only(store):
    """The only game of a store."""
    (game,) = store.list()
    return game


@pytest.fixture(scope="module")
def trie(tmp_path_factory):
    """A trie that has seen ten games."""
    folder = tmp_path_factory.mktemp("runs") / "trie-0"
    assert trained("trie", folder, "--judge-every", "10", steps=10) == 0
    return folder


DRAWN = """\
      a     b     c
   ┌─────┬─────┬─────┐
 1 │  X  │  2  │  3  │
   ├─────┼─────┼─────┤
 2 │  4  │  O  │  6  │
   ├─────┼─────┼─────┤
 3 │  7  │  8  │ [X] │
   └─────┴─────┴─────┘"""


def drawn(board=None, rules=None, last=None, **settings):
    """The picture of a board, which is empty by default."""
    rules = rules or Rules()
    cells = np.zeros(rules.cells, np.int8) if board is None else parse_board(board, rules)
    return picture(cells, rules, talking(**settings).console, last).plain


def test_the_board_has_coordinates_numbers_on_free_cells_and_the_last_move_in_brackets():
    assert drawn("X../.O./..X", last=8) == DRAWN
    assert " 1 │  X* │  X* │[X*] │" in drawn("XXX/OO./...", last=2)
    wide = drawn(rules=Rules(2, 4, 3))
    assert " 2 │  5  │  6  │  7  │  8  │" in wide
    assert wide.splitlines()[0].split() == ["a", "b", "c", "d"]
    for width, widest in ((80, 53), (40, 37)):
        lines = drawn(rules=Rules(7, 8, 4), width=width).splitlines()
        assert max(map(len, lines)) <= widest, "the largest board fits a narrow terminal"
    values, texts = (0.934, -1, 0, -0.0, 1234.5), ["+0.93", "-1.00", "+0.00", "+0.00", "+1.23e+03"]
    assert [number_text(value) for value in values] == texts


def test_consoles_get_colours_and_ascii_where_these_are_theirs():
    ascii_file = types.SimpleNamespace(encoding="ascii", isatty=lambda: False)
    text = picture(EMPTY, Rules(), Console(file=ascii_file, width=80)).plain
    assert text.isascii()
    assert " 2 |  4  |  5  |  6  |" in text
    talk = talking(force_terminal=True, color_system="256")
    talk.say(picture(parse_board("X../.O./...", Rules()), Rules(), talk.console))
    assert not missing(said(talk), "\x1b[1;38;5;39m", "\x1b[1;38;5;208m")


@pytest.mark.parametrize(
    ("understand", "bad", "good", "meaning", "words"),
    [
        (one_of("X", "O", "random"), "Z", "x", "X", "X, O or random, got 'Z'"),
        (one_of("X", "O", default="X"), "0", "", "X", "X or O, got '0'"),
        (number(1, 6), "7", "6", 6, "1 to 6, got '7'"),
        (number(1, default=3), "³", "", 3, "at least 1, got '³'"),
        (number(1), "\x1b[31m5", "3", 3, "well? [31m5\n"),
        (seconds(0.5), "nan", "", 0.5, "from 0 to 3600"),
        (seconds(0.5), "soon", "2", 2.0, "from 0 to 3600"),
    ],
)
def test_an_answer_that_is_not_understood_is_asked_again(understand, bad, good, meaning, words):
    talk = talking(f"{bad}\n{good}\n")
    assert talk.ask("well?", understand) == meaning
    assert words in said(talk)
    assert said(talk).count("well?") == 2
    assert "\x1b" not in said(talk)
    with pytest.raises(EOFError):
        talk.ask("well?", understand)


# --- games ------------------------------------------------------------------------------------

BACK, LONG_GAME = "You have no move to take back yet.", "b2 b1 a1 c3 a3 c1 a2"
RESIGNED = "Ben (O) resigns: Ann (X) wins.\nO resigned a position that was a draw."
THREW = "Ann (X) wins.\nO's b1 (move 2) turned a draw into a loss: X could win in 3."
TAKEN = "cell (O) marks a1, which is taken: an illegal move loses.\nX wins."
EVERY = "1 2 3 4 5 6 7 8 9 " * 5


@pytest.mark.parametrize(
    ("x", "o", "answers", "words", "kept"),
    [
        ("human", "human", "b2 1 C3 b1 7 c1", "\nO wins.\n", "b2 a1 c3 b1 a3 c1, O line"),
        ("human:Ann", "human:Ben", LONG_GAME, THREW, f"{LONG_GAME}, X line"),
        ("human:Ann", "human:Ben", "b2 resign", RESIGNED, "b2, X resigned"),
        ("human", "minimax-first", "b2 undo undo a1 resign", BACK, "a1 b2, O resigned"),
        ("minimax-first", "human", "undo b2 u c3 resign", BACK, "a1 c3 c1, X resigned"),
        ("human", "human", f"undo b2 c1 undo undo {LONG_GAME}", BACK, f"{LONG_GAME}, X line"),
        ("human", "minimax-first", EVERY, "(O) plays b2.", "a1 b2 b1 c1 a2 a3, O line"),
        ("minimax-first", "human", EVERY, "(X) plays a1.", "a1 b1 a2 c1 b2 c2 a3, X line"),
        ("human", "cell", "a1", TAKEN, "a1 a1, X illegal"),
    ],
)
def test_a_finished_game_is_kept_with_who_played(store, x, o, answers, words, kept):
    text, game = played(answers, store, x, o), only(store)
    assert text.count(words) == 1
    assert f"{game.text}, {game.result} {game.ended}" == kept
    assert [game.x.name, game.o.name] == [x.removeprefix("human:"), o.removeprefix("human:")]
    people = [side for side, name in zip("XO", (x, o), strict=True) if "human" in name]
    assert (game.origin, game.side) == ("human", people[0] if len(people) == 1 else None)
    again = f"python play.py --replay {game.id} --store {store.path}"
    assert f"saved as game {game.id}; to see it again: {again}" in text


def test_a_move_that_cannot_be_is_asked_for_again_with_what_is_allowed(store):
    bad = ("b9", "0", "10", "9" * 20, "²", "\x1b[31m", "")
    talk = talking("\n".join(("5", *bad, "b2", "5", "quit", "")))
    Table(seats_of(("human", "human"), Rules(), talk), Rules(), talk, store).play_all(1, 0)
    moves = "type a1 to c3, or 1 to 9, or undo, hint, values, resign, quit, help"
    assert said(talk).count(f"is no move: {moves}") == len(bad)
    assert said(talk).count("b2 is taken; free are a1 b1 c1 a2 c2 a3 b3 c3") == 2
    assert "You left the game; it is not saved." in said(talk)
    with pytest.raises(EOFError):
        played("b2", store)
    assert store.count() == 0


def test_hints_name_the_best_moves_and_numbers_go_up_to_the_last_cell_of_larger_boards(store):
    text = played("? hint b2 b1 hint a1 hint quit", store)
    best = "every move draws.", "a1, c1, a2, c2, a3 or c3 wins in 3.", "c3 loses in 2."
    assert not missing(text, *COMMANDS, *COMMANDS.values(), *(f"Hint: {hint}" for hint in best))
    text = played("25 1 24 2 23 3 hint 22", store, rules=LARGE)
    assert only(store).text == "e5 a1 d5 b1 c5 c1 b5"
    assert not missing(text, "X wins.", "5x5, 4 in a row is too large to evaluate exactly.")
    assert "Hint: b5, from a search of two moves; this board is too large to solve." in text


def test_values_show_what_the_player_thinks_and_the_truth_until_they_are_switched_off(store):
    text = played("values_expected b2 values quit", store, "human", "minimax-first")
    table, board = seat_of("minimax-first", Rules()).policy, parse_board("O../.X./...", Rules())
    values = action_values("X", table, RandomPolicy(), board=board)
    before, first, second, after = text.split("X, your move")[:4]
    assert "numbers:" not in before + after
    kind = "numbers: wins minus losses against random moves, exact"
    assert f"{kind}; minimax-first would play a1\nw" in first
    assert not missing(second, f" 1 │  [O]  │ {values[1]:+.2f} │", f"│ {values[8]:+.2f} │\n")
    assert second.count("draw") == 7
    text = played("b2 b1 quit", store, values="own")
    assert "win 3" in text
    assert "numbers:" not in text, "people have exact results alone"
    text = played("quit", store, "human", "search", values="own")
    assert "numbers: its search score of each move, exact" in text
    assert "; search would play one of" in text
    text = played("values_own values_expected values_both quit", store, "human", "search")
    assert not missing(text, "win 1, draw 0, loss -1; search", f"{kind}; search would play one of")
    assert "type values own or values expected, got 'values both'" in text
    assert "would play a1 56 %, b1 6 %" in played("v quit", store, o="minimax-first-slip=0.5")


def test_a_battle_is_kept_game_by_game_and_counted_or_else_written_down(store):
    text, games = played("", store, "minimax", "random", seed=5, games=3), store.list()
    about = [(game.origin, game.side, game.seed) for game in games]
    assert about == [("battle", None, seed) for seed in (7, 6, 5)]
    won = sum(game.result == "X" for game in games)
    assert f"3 games: minimax (X) won {won}, random (O) won 0, drawn {3 - won}" in text
    boards = sum(len(game.moves) + 1 for game in games)
    assert text.count("minimax (X) against random (O)") == boards
    for rules in (Rules(), Rules(2, 4, 3), LARGE):
        policies = {"X": RandomPolicy(), "O": FixedPlayer(1)}
        seats = {side: Seat(Player("agent", side), rules, policies[side]) for side in "XO"}
        game = Table(seats, rules, talking(), store).play(seed=9)
        assert list(game.moves) == battle.play(*policies.values(), rules, seed=9)
    store.close()
    talk = talking()
    with pytest.raises(StoreError, match="closed"):
        Table(seats, rules, talk, store).play_all(1, 0)
    line = said(talk).partition("the game could not be saved; as a line of text it is: ")[2]
    assert Game.parse(line.splitlines()[0]).x == Player("agent", "X")


# --- keys -------------------------------------------------------------------------------------


@pytest.fixture
def pipe():
    """Keys that read from a pipe, and the function that writes to it; None closes it."""
    ours, theirs = os.pipe()
    with os.fdopen(ours) as source:
        yield (
            Keys(source),
            lambda text: os.write(theirs, text.encode()) if text else os.close(theirs),
        )


def test_keys_are_read_one_by_one_and_in_pieces_until_the_end_of_the_input(pipe, monkeypatch):
    keys, write = pipe
    write("q\x1b[C\x1b[1~\x1bOF\x1b[5~")
    assert [keys.read(0) for _ in range(5)] == ["q", "right", "home", "end", "escape"]
    assert keys.read(0.01) == ""
    write("é\x1b")
    assert keys.read(None) == "é"
    assert keys.read(1) == "escape"
    write("\x1b")
    monkeypatch.setattr("terminal.keys.PAUSE", 60)  # however busy the machine is
    threading.Timer(0.02, write, ("[D",)).start()
    assert keys.read(60) == "left"
    for end, key in (("\x04", 0), (None, None)):
        write(end)
        with pytest.raises(EOFError):
            keys.read(key)


def test_keys_of_windows_have_the_same_names(monkeypatch):
    typed = list("a\0K\xe0Gq")
    console = types.SimpleNamespace(kbhit=lambda: bool(typed), getwch=lambda: typed.pop(0))
    monkeypatch.setitem(sys.modules, "msvcrt", console)
    monkeypatch.setattr(sys, "platform", "win32")
    assert [Keys(sys.stdin).read(0.01) for _ in range(5)] == ["a", "left", "home", "q", ""]


def test_a_certificate_sets_the_board_and_must_be_that_of_the_model(
    tmp_path, trie, monkeypatch, store
):
    monkeypatch.chdir(tmp_path)
    with refuses("unknown player 'humna'; did you mean 'human'"):
        seat_of("humna", Rules())
    with refuses("no run of 'trie' in models/ or runs/ (runs there: none): train one with `pyt"):
        seat_of("latest:trie", Rules())
    rules, path = Rules(2, 3, 2), tmp_path / "small.json"
    write(certify(MinimaxPolicy(rules), "dqn", rules), path)
    assert board_of(["minimax", str(path)]) == rules
    assert board_of(["minimax", "human", "mcts-value=runs/none"]) is None
    assert path_of("mcts-value=runs/none") is None
    assert seat_of(str(path), rules).name.endswith("small.json")
    with refuses("plays on 2x3"):
        seat_of(str(path), Rules())
    folder = shutil.copytree(trie, tmp_path / "runs" / "trie-0")
    seat = seat_of("latest:trie", Rules())
    assert (seat.player.kind, seat.name, len(seat.player.source)) == ("run", "runs/trie-0", 64)
    assert np.array_equal(seat.policy.table, load_policy(trie).table)
    assert not seat.is_new(EMPTY)
    new = "runs/trie-0 (O) has never seen this position in training."
    assert new in played("", store, "random", "latest:trie", seed=2)
    assert seat_of("runs/trie-0/certificate.json", Rules()).player == seat.player
    assert board_of(["human", "latest:trie"]) == Rules()
    write(certify(MinimaxPolicy(Rules()), "trie"), folder / "certificate.json")
    with refuses("model.safetensors does not make the moves of the certificate beside it"):
        seat_of(str(folder), Rules())


def test_a_replay_goes_forwards_and_backwards_and_shows_the_truth_if_asked_to():
    replay = Replay(Game.parse(LONG_GAME))
    places = {"left": 0, "right": 1, "n": 1, "end": 7, "home": 0, "x": 0}
    for key, at in places.items():
        replay.go(key)
        assert replay.at == at
    for key in ("end", "v", "left"):
        replay.go(key)
    assert "win 1" in replay.picture(talking().console).plain


PLAYERS = "x=human:Ann o=agent:minimax time=2026-01-02T03:04:05Z"
LOST = "gives away the draw and loses in 3"
LAST = "wins at once\nAnn (X) wins.\nO's b1 (move 2) turned a draw into a loss: X could win in 3.\n"
GAVE_UP = "unknown (O) resigns: unknown (X) wins.\nO resigned a position that was a draw."


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"{LONG_GAME} {PLAYERS}", "2026-01-02, 3x3, 3 in a row: Ann (X) against minimax (O)"),
        (f"{LONG_GAME} o=human:human", "unknown (X) against you (O)\n"),
        (f"{LONG_GAME} x=human:human o=human:human", ": X against O\n"),
        (f"{LONG_GAME} {PLAYERS}", "move 1 of 7: X b2: keeps the draw\n"),
        (f"{LONG_GAME} {PLAYERS}", f"move 2 of 7: O b1: {LOST}   (this decided the game)\n"),
        (f"{LONG_GAME} {PLAYERS}", f"X a2: {LAST}"),
        ("a1 a1 ended=illegal", "O a1: is taken already: an illegal move loses   (this decided t"),
        ("ended=resigned result=X", f"before the first of 0 moves\n{GAVE_UP}"),
        ("a1 board=5x5 k=4 ended=resigned result=O", "5x5, 4 in a row is too large to evaluate"),
        ("a1 b1 c1 b2 a2 c2 b3 a3 ended=early", "A draw: neither side could still win."),
        ("a1 b1 c1 b2 a2 c2 b3 a3 c3", "A draw.\n"),
    ],
)
def test_every_move_of_a_replay_has_its_verdict_and_the_end_a_sentence(line, words):
    talk, game = talking(), Game.parse(line)
    watch(game, talk)
    assert words in said(talk)
    assert said(talk).count("┌") == len(game.moves) + 1


def test_the_list_shows_the_newest_games_and_how_to_see_more(store):
    def listed(limit, **about):
        talk = talking()
        print_list(store, talk, limit, **about)
        return said(talk)

    assert listed(20) == f"no game yet in {store.path}\n"
    resigned, training = (
        "a1 ended=resigned result=O origin=web",
        "b2 a1 c3 b1 a3 c1 origin=training",
    )
    store.import_lines([f"{LONG_GAME} x=human:Ann", resigned, training])
    more = "1 of 2 games; more by --list 2", "to see one again: "
    assert not missing(listed(1), "a1", "X resigned, O won", *more)
    text = listed(20, player="Ann", result="X")
    assert missing(text, LONG_GAME, "resigned") == ["resigned"]
    assert "no such game" in listed(20, player="Ben")


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (100, ["│    1 │ 2026-05-09 09:35 │ Ann │", "│ 3x3x3 │ X won  │ b2 a1 "]),
        (72, ["│    1 │ 2026-05-09 09:35 │ Ann │", "│ 3x3x3 │ X won  │     5 │"]),
        (40, ["   1  2026-05-09 09:35  3x3x3\n      Ann against unknown\n      X won, 5 moves\n"]),
    ],
)
def test_the_list_has_local_times_and_fits_the_terminal(store, monkeypatch, width, words):
    """Two hours east of UTC, at a terminal of this many columns."""
    monkeypatch.setenv("TZ", "TTT-2")
    time.tzset()
    store.import_lines(["b2 a1 b1 a2 b3 x=human:Ann time=2026-05-09T07:35:25Z"])
    talk = talking(force_terminal=True, width=width, color_system=None)
    print_list(store, talk, 20)
    monkeypatch.undo()
    time.tzset()
    shown = said(talk)
    assert max(map(len, shown.splitlines()[:4])) <= width
    assert not missing(shown, *words)


def test_values_that_do_not_fit_a_narrow_terminal_are_left_out_and_that_is_said():
    rules = Rules(7, 8, 4)
    about = [[Line("+0.93"), Line("draw")]] * rules.cells
    empty, note = np.zeros(rules.cells, np.int8), "The values need a terminal of 52 columns"
    for width, words in ((40, f"{note}, this one has 40."), (60, "+0.93")):
        console = talking(force_terminal=True, width=width).console
        shown = picture(empty, rules, console, None, about).plain
        assert words in shown
        assert max(map(len, shown.splitlines()[:-1])) <= width


def menu(answers, store, rules=None, **about):
    talk = talking("\n".join(answers.split(" ")) + "\n")
    Menu(rules or Rules(), talk, store, seed=1, **about).run()
    return said(talk)


def test_the_menu_is_asked_again_until_it_is_left_and_perfect_play_takes_either_side(store):
    text = menu("11 x 1 quit 10", store)
    words = (
        *(f"please answer 1 to 10, or a board such as 4x4x3, got '{one}'" for one in ("11", "x")),
    )
    assert not missing(text, *words, "You left the game; it is not saved.")
    assert text.count("1  two players") == 2
    menu("3 sideways O resign 10", store)
    assert (only(store).side, only(store).x) == ("O", Player("agent", "minimax"))
    text = menu("3 random quit 3 X quit 10", store, rules=LARGE)
    assert "5x5, 4 in a row is too large to solve: the strongest opponent here is a search" in text


def test_an_easy_opponent_is_one_choice_away_on_every_board(store):
    text = menu("2 X resign 10", store)
    assert "minimax-slip=0.3: perfect play that makes 30 % of its moves at random." in text
    assert only(store).o.name == "minimax-slip=0.3"
    text = menu("2 X quit 10", store, rules=LARGE)
    assert "search-depth=1: alpha-beta search that wins and blocks, but falls for a fork." in text


def test_a_trained_agent_is_chosen_from_the_package_and_the_runs(
    store, tmp_path, monkeypatch, trie
):
    monkeypatch.chdir(tmp_path)
    command = "python train.py maskable_ppo --board 3x4x3 --until unbeatable"
    assert command in menu("4 10", store, rules=Rules(3, 4, 3))
    shutil.copytree(trie, "runs/trie-0")
    shutil.copytree(trie, "runs/broken-0")
    (tmp_path / "runs/broken-0/certificate.json").write_text("{")
    last = len(trained_names()) + 1
    chosen = (
        f"{last}  runs/trie-0, Game memory: trie, seed 0, can be beaten on 3x3, 3 in a row",
        f"to {last}, got '{last + 1}'",
    )
    text = menu(f"4 {last + 1} {last} X resign 10", store)
    assert not missing(
        text,
        "1  dqn, Deep Q-network: cannot be",
        "optimal: no player that never loses wins",
        "runs/broken-0 cannot play: ",
        *chosen,
    )
    assert only(store).o.name == "runs/trie-0"


def test_two_players_are_watched_and_replays_chosen_from_the_menu(store):
    assert "no game yet" in menu("7 10", store)
    text = menu("6 1 2 2 0 10", store)
    assert "2 games: random (X) won" in text
    assert text.count("1  random: plays any legal move") == 1, "both sides choose from one list"
    headings = ("Easy to beat", "Perfect play\n", "Trained, proven unbeatable", "Trained, can be")
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)
    menu("6 1 2 1 10", store, delay=0.0)
    assert store.count(origin="battle") == 3
    store.import_lines([LONG_GAME])
    assert not missing(menu("7 5 0 4 10", store), "unknown game 5", "move 7 of 7")
    assert "move 7 of 7" in menu("7  10", store)


TRIE = list(TRAINABLE).index("trie") + 1


def test_an_agent_is_trained_from_the_menu_and_plays_at_once(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = menu(f"8 {TRIE} 1 steps 40 yes O resign 10", store)
    about = "trie on 3x3, 3 in a row, seed 0\ntrained for 40 steps", "saved: runs/trie-0   look: "
    options = "1  the defaults of trie", "2  tophep: ", "How many games? [100000]"
    assert not missing(text, *about, *options, "as X: ", "as O: ")
    assert read("runs/trie-0")["training"]["steps"] == 40
    assert only(store).x.name == "runs/trie-0"
    text = menu(f"8 {TRIE} 2 unbeatable 30 no 10", store)
    assert not missing(text, "How many games at most? [10000]", "as X (not trained for): ")
    assert "unbeatable as O was not reached within 30 steps" in text
    assert read("runs/trie-tophep-0")["config"]["side"] == "O"


def test_a_training_that_cannot_be_or_is_left_comes_back_to_the_menu(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = menu(f"8 {TRIE} 1 10", store, rules=LARGE)
    assert "this agent learns boards of at most 12 cells" in text

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TrieLearner, "advance", interrupted)
    text = menu(f"8 {TRIE} 1 steps 40 10", store)
    assert "the training ended at once, before anything was saved" in text
    assert not list(tmp_path.rglob("trie-0"))

    def without_torch(agent):
        raise ModuleNotFoundError("no torch", name="torch")

    monkeypatch.setattr(agents, "page", without_torch)
    assert "torch is not installed: pip install -e . --group train" in menu("8 1 10", store)


def test_a_board_is_chosen_in_the_menu_by_its_size(store):
    text = menu("4x4x9 3x 2x4x3 1 a1 quit 4X5x4 4x4 2x3 10", store)
    assert not missing(
        text,
        *("tic-tac-toe, 3x3, 3 in a row", "k must be at most", "'3x'"),
        *("tic-tac-toe, 2x4, 3 in a row", "X, your move (such as d2 or 8"),
        *("tic-tac-toe, 4x5, 4 in a row", "4x4x3", "4x4x4", "tic-tac-toe, 2x3, 3 in a row"),
    )


def test_every_question_of_the_menu_has_a_way_back(store):
    text = menu("4 0 6 0 8 0 9 0 10", store)
    assert text.count(", or 0 to go back: ") == 4
    assert text.count("1  two players") == 5
    assert store.count() == 0


def test_the_game_tree_of_a_trie_and_of_any_player_is_printed(store, tmp_path, monkeypatch, trie):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trie, "runs/trie-0")
    text = menu(f"9 {2 + len(BUILT_IN) + len(trained_names())} 1 10", store)
    assert "10 games, " in text
    assert "1. X " in text
    text = menu("9 11  O 10", store)
    assert text.count("1. X ") == 9, "every move of the other side"
    assert not missing(text, "1. X a1            draws", "  2. O b2  100.0 %   draws")


def test_a_game_tree_follows_the_moves_of_the_player_and_all_replies():
    """A player that marks the first cell as X and as O plays a game of one illegal move."""
    rules = Rules()
    lines = tree_text(CellPlayer(0), rules, 9).splitlines()
    assert lines == ["1. X a1  100.0 %   draws", "  2. O a1  100.0 %   is taken: it loses"]
    first = MinimaxPolicy(rules, ties="first")
    text = tree_text(first, rules, 9, "X")
    plies = [line.split(".")[0].strip() for line in text.splitlines()]
    assert [plies.count(ply) for ply in "12345"][:4] == [1, 8, 8, 48]
    assert "7. X " in text
    large = tree_text(RandomPolicy(), LARGE, 4).splitlines()
    assert (len(large), large[0]) == (MAX_LINES + 1, "1. X a1    4.0 %")
    assert large[-1] == "... the first 2,000 moves; a smaller depth shows all of it"
