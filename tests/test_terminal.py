"""Games, the menu and replays, asked and answered through streams that are no terminal."""

import importlib
import io
import os
import shutil
import sys
import threading
import types

import numpy as np
import pytest
from rich.console import Console
from sample_players import CellPlayer, FixedPlayer

from players.seat import Seat, board_of, path_of, seat_of
from terminal import battle
from terminal.game import COMMANDS, Table, seats_of
from terminal.keys import Keys
from terminal.menu import Menu
from terminal.picture import number as number_text
from terminal.picture import picture
from terminal.replay import Replay, print_list, watch
from terminal.talk import Talk, number, one_of, seconds
from tictactoe_env.certificate import certify, load_policy, perfect_table, write
from tictactoe_env.games import Game, GameStore, Player, StoreError
from tictactoe_env.match import action_values
from tictactoe_env.notation import parse_board
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules


@pytest.fixture
def store(tmp_path):
    with GameStore(tmp_path / "games.db") as opened:
        yield opened


def talking(answers="", width=100, **settings):
    return Talk(Console(file=io.StringIO(), width=width, **settings), io.StringIO(answers))


def said(talk):
    return talk.console.file.getvalue()


def played(answers, store, x="human", o="human", rules=None, seed=0, **about):
    """What was said in a game with these answers."""
    talk = talking("\n".join(answers.split()) + "\n")
    rules = rules or Rules()
    Table(seats_of((x, o), rules, talk), rules, talk, store, **about).play_all(1, seed)
    return said(talk)


def only(store):
    """The only game of a store."""
    (game,) = store.list()
    return game


def trained(agent, folder, steps):
    """What a run holds of an agent after so many steps, in its folder."""
    page = importlib.import_module(f"agents.{agent}")

    def report(_, policy, save, *notes):
        folder.mkdir(parents=True)
        save(folder, False)
        write(certify(policy, agent, seed=0), folder / "certificate.json")
        return True

    page.train(page.Config(steps=steps, judge_every=steps), report)
    return folder


@pytest.fixture(scope="module")
def trie(tmp_path_factory):
    """A trie that has seen ten games."""
    return trained("trie", tmp_path_factory.mktemp("runs") / "trie-0", 10)


# --- the picture -----------------------------------------------------------------------------------------------------


def test_the_board_has_coordinates_numbers_on_free_cells_and_the_last_move_in_brackets():
    text = picture(parse_board("X../.O./..X", Rules()), Rules(), talking().console, last=8)
    assert text.plain.splitlines() == [
        "      a     b     c",
        "   ┌─────┬─────┬─────┐",
        " 1 │  X  │  2  │  3  │",
        "   ├─────┼─────┼─────┤",
        " 2 │  4  │  O  │  6  │",
        "   ├─────┼─────┼─────┤",
        " 3 │  7  │  8  │ [X] │",
        "   └─────┴─────┴─────┘",
    ]


def test_a_complete_line_is_starred():
    text = picture(parse_board("XXX/OO./...", Rules()), Rules(), talking().console, last=2)
    assert " 1 │ *X* │ *X* │ [X] │" in text.plain


def test_a_board_that_is_not_square_counts_its_cells_row_by_row():
    text = picture(np.zeros(8, dtype=np.int8), Rules(2, 4, 3), talking().console)
    assert " 2 │  5  │  6  │  7  │  8  │" in text.plain
    assert text.plain.splitlines()[0].split() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(("width", "widest"), [(80, 53), (40, 37)])
def test_the_largest_board_fits_a_narrow_terminal(width, widest):
    rules = Rules(7, 8, 4)
    text = picture(np.zeros(56, dtype=np.int8), rules, talking(width=width).console)
    assert max(map(len, text.plain.splitlines())) <= widest


def test_a_console_of_ascii_is_given_ascii():
    class Ascii(io.StringIO):
        encoding = "ascii"

    text = picture(np.zeros(9, dtype=np.int8), Rules(), Console(file=Ascii(), width=80))
    assert text.plain.isascii()
    assert " 2 |  4  |  5  |  6  |" in text.plain


def test_marks_differ_in_colour_on_a_terminal():
    talk = talking(force_terminal=True, color_system="256")
    talk.say(picture(parse_board("X../.O./...", Rules()), Rules(), talk.console))
    assert "\x1b[1;38;5;39m" in said(talk)
    assert "\x1b[1;38;5;208m" in said(talk)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.934, "+0.93"), (-1, "-1.00"), (0, "+0.00"), (-0.0, "+0.00"), (1234.5, "+1.23e+03")],
)
def test_a_value_has_its_sign(value, text):
    assert number_text(value) == text


# --- asking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("understand", "bad", "good", "meaning", "words"),
    [
        (one_of("X", "O", "random"), "Z", "x", "X", "X, O or random, got 'Z'"),
        (one_of("X", "O", default="X"), "0", "", "X", "X or O, got '0'"),
        (number(1, 6), "7", "6", 6, "1 to 6, got '7'"),
        (number(1), "-1", "12", 12, "at least 1, got '-1'"),
        (number(1, default=3), "³", "", 3, "at least 1, got '³'"),
        (seconds(0.5), "nan", "", 0.5, "from 0 to 3600"),
        (seconds(0.5), "1e9", "2", 2.0, "from 0 to 3600"),
    ],
)
def test_what_is_not_understood_is_asked_again_with_what_is_allowed(
    understand, bad, good, meaning, words
):
    talk = talking(f"{bad}\n{good}\n")
    assert talk.ask("well?", understand) == meaning
    assert words in said(talk)
    assert said(talk).count("well?") == 2


def test_the_end_of_the_input_is_an_error_of_its_own():
    with pytest.raises(EOFError):
        talking("nothing\n").ask("well?", number(1))


def test_answers_that_are_not_typed_are_written_down_without_what_cannot_be_printed():
    talk = talking("\x1b[31m5\n3\n")
    assert talk.ask("well?", number(1)) == 3
    assert "well? [31m5\n" in said(talk)
    assert "\x1b" not in said(talk)


# --- a game ----------------------------------------------------------------------------------------------------------


def test_two_people_play_with_names_of_cells_and_with_numbers(store):
    text = played("b2 1 C3 b1 7 c1", store)
    assert "O wins." in text
    game = only(store)
    assert (game.text, game.result, game.origin, game.side) == (
        "b2 a1 c3 b1 a3 c1",
        "O",
        "human",
        None,
    )
    assert (game.x, game.o) == (Player("human", "human"), Player("human", "human"))
    assert (
        f"kept as game {game.id}; to see it again: python play.py --replay {game.id} --store {store.path}"
        in text
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (
            "b9",
            "'b9' is no move: type a1 to c3, or 1 to 9, or undo, hint, values, resign, quit, help",
        ),
        ("0", "'0' is no move"),
        ("10", "'10' is no move"),
        ("99999999999999999999", "is no move"),
        ("²", "is no move"),
        ("\x1b[31m", "is no move"),
        ("", "is no move"),
        ("b2", "b2 is taken; free are a1 b1 c1 a2 c2 a3 b3 c3"),
        ("5", "b2 is taken"),
    ],
)
def test_a_move_that_cannot_be_is_asked_for_again_with_what_is_allowed(store, bad, words):
    talk = talking(f"5\n{bad}\nquit\n")
    Table(seats_of(("human", "human"), Rules(), talk), Rules(), talk, store).play_all(1, 0)
    assert words in said(talk)
    assert store.count() == 0


def test_on_larger_boards_numbers_go_up_to_the_last_cell(store):
    text = played("25 1 24 2 23 3 22", store, rules=Rules(5, 5, 4))
    assert only(store).text == "e5 a1 d5 b1 c5 c1 b5"
    assert "X wins." in text
    assert "5x5, 4 in a row is too large to be judged exactly." in text


@pytest.mark.parametrize(
    ("x", "o", "side"), [("human", "minimax-first", "X"), ("minimax-first", "human", "O")]
)
def test_either_side_can_be_played_against_a_player(store, x, o, side):
    text = played("1 2 3 4 5 6 7 8 9 " * 5, store, x, o)
    game = only(store)
    assert (game.side, game.origin) == (side, "human")
    assert {game.x, game.o} == {Player("human", "human"), Player("agent", "minimax-first")}
    own = len(game.moves[side == "O" :: 2])
    assert (
        text.count(f"minimax-first ({'O' if side == 'X' else 'X'}) plays ") == len(game.moves) - own
    )
    assert game.result != side


def test_the_end_says_who_won_what_decided_it_and_the_store_knows_it(store):
    text = played("b2 b1 a1 c3 a3 c1 a2", store, "human:Ann", "human:Ben")
    assert (
        "Ann (X) wins.\nO threw it away with move 2, b1: it gives away the draw and loses in 6."
        in text
    )
    assert only(store).x == Player("human", "Ann")


def test_undo_goes_back_to_the_last_turn_of_the_person(store):
    text = played("b2 undo undo a1 resign", store, "human", "minimax-first")
    assert text.count("There is no move of yours to take back yet.") == 1
    assert (only(store).text, only(store).ended) == ("a1 b2", "resigned")


def test_undo_does_not_take_back_the_first_move_of_the_player(store):
    text = played("undo b2 u c3 resign", store, "minimax-first", "human")
    assert "There is no move of yours to take back yet." in text
    assert only(store).text.startswith("a1 c3 ")


def test_two_people_take_back_one_move_at_a_time(store):
    text = played("undo b2 c1 undo undo b2 b1 a1 c3 a3 c1 a2", store)
    assert text.count("There is no move of yours to take back yet.") == 1
    assert only(store).text == "b2 b1 a1 c3 a3 c1 a2"


def test_a_hint_names_the_best_moves(store):
    text = played("hint b2 b1 hint a1 hint quit", store)
    assert "Hint: every move draws." in text
    assert "Hint: a1, c1, a2, c2, a3 or c3 wins in 5." in text
    assert "Hint: c3 loses in 4." in text


def test_a_hint_on_a_board_that_is_too_large_says_that_it_is_a_guess(store):
    text = played("a1 e5 b1 d5 c1 hint quit", store, rules=Rules(5, 5, 4))
    assert "Hint: d1, by a look two moves ahead; this board is too large to be solved." in text


def test_values_show_what_the_player_thinks_and_the_truth_until_they_are_switched_off(store):
    text = played("values b2 values quit", store, "human", "minimax-first")
    table = seat_of("minimax-first", Rules()).policy
    best, worst = (
        f"{value:+.2f}"
        for value in action_values(
            "X", table, RandomPolicy(), board=parse_board("O../.X./...", Rules())
        )[[1, 8]]
    )
    before, first, second, after = text.split("X, your move")[:4]
    assert "numbers:" not in before
    assert (
        "numbers: wins minus losses against random moves, exact; minimax-first would play a1\nwords: the truth;"
        in first
    )
    assert f" 1 │  [O]  │ {best} │" in second
    assert f"│ {worst} │\n" in second
    assert second.count("draw") == 7
    assert "numbers:" not in after


def test_values_of_two_people_are_the_truth_alone(store):
    text = played("b2 b1 quit", store, values=True)
    assert "win 5" in text
    assert "numbers:" not in text


def test_help_explains_every_command(store):
    text = played("? quit", store)
    assert all(word in text and sentence in text for word, sentence in COMMANDS.items())


def test_a_resigned_game_is_kept_and_one_that_is_left_is_not(store):
    assert "You left the game; it is not kept." in played("a1 quit", store)
    assert store.count() == 0
    text = played("b2 resign", store, "human:Ann", "human:Ben")
    assert "Ben (O) resigns: Ann (X) wins.\nO resigned a position that was a draw." in text
    assert (only(store).ended, only(store).result) == ("resigned", "X")


def test_the_end_of_the_input_in_a_game_keeps_nothing(store):
    with pytest.raises(EOFError):
        played("b2", store)
    assert store.count() == 0


def test_a_player_that_marks_a_taken_cell_loses(store):
    talk, seats = (
        talking("a1\n"),
        {
            "X": seat_of("human", Rules()),
            "O": Seat(Player("agent", "stubborn"), Rules(), CellPlayer(0)),
        },
    )
    Table(seats, Rules(), talk, store).play_all(1, 0)
    assert "stubborn (O) marks a1, which is taken: an illegal move loses.\nX wins." in said(talk)
    assert (only(store).text, only(store).ended, only(store).result) == ("a1 a1", "illegal", "X")


def test_a_game_that_cannot_be_kept_is_written_down(store):
    store.close()
    talk = talking()
    with pytest.raises(StoreError, match="closed"):
        Table(
            seats_of(("minimax-first", "minimax-first"), Rules(), talk), Rules(), talk, store
        ).play_all(1, 0)
    (line,) = [
        line for line in said(talk).splitlines() if line.startswith("the game could not be kept")
    ]
    assert Game.parse(line.partition(": ")[2]).x == Player("agent", "minimax-first")


# --- battles ---------------------------------------------------------------------------------------------------------


def test_a_battle_is_kept_game_by_game_and_counted(store):
    talk = talking()
    Table(seats_of(("minimax", "random"), Rules(), talk), Rules(), talk, store).play_all(3, seed=5)
    games = store.list()
    assert [(game.origin, game.side, game.seed) for game in games] == [
        ("battle", None, 7),
        ("battle", None, 6),
        ("battle", None, 5),
    ]
    won = sum(game.result == "X" for game in games)
    assert f"3 games: minimax (X) won {won}, random (O) won 0, drawn {3 - won}" in said(talk)
    assert said(talk).count("minimax (X) against random (O)") == sum(
        len(game.moves) + 1 for game in games
    )


def test_the_same_seed_plays_the_same_games(store):
    for _ in range(2):
        played("", store, "random", "minimax", seed=3)
    first, second = store.list()
    assert first.moves == second.moves


@pytest.mark.parametrize("rules", [Rules(), Rules(2, 4, 3), Rules(5, 5, 4)], ids=str)
def test_a_game_is_that_of_a_battle_with_the_same_seed(store, rules):
    policies = (RandomPolicy(), FixedPlayer(1))
    seats = {
        side: Seat(Player("agent", side), rules, policy)
        for side, policy in zip("XO", policies, strict=True)
    }
    assert list(Table(seats, rules, talking(), store).play(seed=9).moves) == battle.play(
        *policies, rules, seed=9
    )


def test_a_trie_says_when_it_has_never_met_a_position(store, trie):
    text = played("", store, "random", str(trie), seed=2)
    assert f"{trie.as_posix()[-100:]} (O) has never met this position." in text
    seat = seat_of(str(trie), Rules())
    assert not seat.is_new(np.zeros(9, dtype=np.int8))
    assert not seat_of("minimax", Rules()).is_new(np.zeros(9, dtype=np.int8))


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pipe():
    """Keys that read from a pipe, and the function that writes to it; None closes it."""
    ours, theirs = os.pipe()
    with os.fdopen(ours) as source:
        yield (
            Keys(source),
            lambda text: os.close(theirs) if text is None else os.write(theirs, text.encode()),
        )


def test_keys_are_read_one_by_one(pipe):
    keys, write = pipe
    write("q\x1b[C\x1b[1~\x1bOF\x1b[5~")
    assert [keys.read(0) for _ in range(5)] == ["q", "right", "home", "end", "escape"]
    assert keys.read(0.01) == ""
    write("é")
    assert keys.read(None) == "é"


def test_a_key_that_comes_in_pieces_is_one_key(pipe):
    keys, write = pipe
    write("\x1b")
    threading.Timer(0.02, write, ("[D",)).start()
    assert keys.read(1) == "left"
    write("\x1b")
    assert keys.read(1) == "escape"


def test_the_end_of_the_keys_is_the_end_of_the_input(pipe):
    keys, write = pipe
    write("a\x04")
    assert keys.read(0) == "a"
    with pytest.raises(EOFError):
        keys.read(0)
    write(None)
    with pytest.raises(EOFError):
        keys.read(None)


def test_keys_of_windows_have_the_same_names(monkeypatch):
    typed = list("a\0K\xe0Gq")
    monkeypatch.setitem(
        sys.modules,
        "msvcrt",
        types.SimpleNamespace(kbhit=lambda: bool(typed), getwch=lambda: typed.pop(0)),
    )
    keys = Keys(io.StringIO())
    assert [keys._windows_key(0.01) for _ in range(5)] == ["a", "left", "home", "q", ""]


# --- players ---------------------------------------------------------------------------------------------------------


def test_a_run_is_kept_by_its_path_and_the_hash_of_its_certificate(store, trie):
    seat = seat_of(str(trie), Rules())
    assert seat.player.kind == "run"
    assert seat.player.name == trie.as_posix()[-100:]
    assert len(seat.player.source) == 64
    assert np.array_equal(seat.policy.table, load_policy(trie).table)
    assert seat_of(str(trie / "certificate.json"), Rules()).player == seat.player


def test_a_trained_agent_is_meant_by_its_name_and_the_newest_run_is_taken(
    tmp_path, monkeypatch, trie
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"no run of trie in models/ or runs/: train one with `python train.py trie`",
    ):
        seat_of("trie", Rules())
    for name, age in (("trie-7", 0), ("trie-8", 100)):
        shutil.copytree(trie, tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name / "certificate.json", (1e9 - age, 1e9 - age))
    assert seat_of("trie", Rules()).name == "runs/trie-7"
    assert board_of(["human", "trie"]) == Rules()


def test_a_certificate_of_another_board_sets_the_board_and_plays_on_no_other(tmp_path):
    rules, path = Rules(2, 3, 2), tmp_path / "small.json"
    write(certify(perfect_table(rules), "dqn", rules), path)
    assert board_of(["minimax", str(path)]) == rules
    assert seat_of(str(path), rules).name.endswith("small.json")
    with pytest.raises(ValueError, match="plays on 2x3"):
        seat_of(str(path), Rules())
    assert board_of(["minimax", "human"]) is None


def test_a_model_that_does_not_move_as_its_certificate_is_refused(tmp_path, trie):
    folder = tmp_path / "trie-0"
    folder.mkdir()
    for name in ("model.safetensors", "model.json"):
        (folder / name).write_bytes((trie / name).read_bytes())
    write(certify(perfect_table(Rules()), "trie"), folder / "certificate.json")
    with pytest.raises(ValueError, match="moves otherwise than the certificate"):
        seat_of(str(folder), Rules())


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("minmax", "unknown player 'minmax'; did you mean 'minimax'?"),
        ("runs/none", "there is no saved run or certificate at 'runs/none'"),
        ("search-deep=3", "unknown option of search 'deep'; did you mean 'depth'?"),
        ("minimax-slip=2", "probability"),
        ("human:" + 200 * "a", "name of a player"),
        ("human:a\tb", "printable"),
    ],
)
def test_a_player_that_is_unknown_is_refused_with_a_reason(spec, words):
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        seat_of(spec, Rules())


def test_options_of_a_player_may_hold_a_path():
    assert path_of("mcts-value=runs/none") is None


def test_a_table_of_values_is_asked_for_what_it_believes(tmp_path):
    seat = seat_of(str(trained("tabular_q", tmp_path / "tabular_q-0", 2000)), Rules())
    assert seat.thoughts(np.zeros(9, dtype=np.int8)).kind == "own"


# --- replays ---------------------------------------------------------------------------------------------------------


def test_a_replay_goes_forwards_and_backwards_and_stops_at_its_ends():
    replay = Replay(Game.parse("b2 b1 a1 c3 a3 c1 a2"))
    for key, at in (
        ("left", 0),
        ("right", 1),
        ("right", 2),
        ("left", 1),
        ("end", 7),
        ("right", 7),
        ("home", 0),
        ("x", 0),
    ):
        replay.go(key)
        assert replay.at == at


def test_every_move_of_a_replay_has_its_verdict(store):
    talk = talking()
    watch(
        Game.parse("b2 b1 a1 c3 a3 c1 a2 x=human:Ann o=agent:minimax time=2026-01-02T03:04:05Z"),
        talk,
    )
    text = said(talk)
    assert "2026-01-02, 3x3, 3 in a row: Ann (X) against minimax (O)" in text
    assert text.count("┌") == 8
    assert "move 1 of 7: X b2: keeps the draw\n" in text
    assert (
        "move 2 of 7: O b1: gives away the draw and loses in 6   (this decided the game)\n" in text
    )
    assert text.endswith(
        "X a2: wins at once\nAnn (X) wins.\nO threw it away with move 2, b1: it gives away the draw and loses in 6.\n"
    )


def test_a_replay_shows_the_truth_on_the_cells_if_asked_to():
    replay = Replay(Game.parse("b2 b1 a1 c3 a3 c1 a2"))
    replay.go("end")
    replay.go("v")
    replay.go("left")
    assert "win 1" in replay.picture(talking().console).plain


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "a1 a1 ended=illegal",
            "move 2 of 2: O a1: is taken already: an illegal move loses   (this decided the game)",
        ),
        (
            "ended=resigned result=X",
            "before the first of 0 moves\nunknown (O) resigns: unknown (X) wins.\nO resigned a position that was a draw.",
        ),
        (
            "a1 board=5x5 k=4 ended=resigned result=O",
            "5x5, 4 in a row is too large to be judged exactly.",
        ),
        ("a1 b1 c1 b2 a2 c2 b3 a3 ended=early", "A draw: nobody could win any more."),
    ],
)
def test_games_that_ended_otherwise_are_shown_too(line, words):
    talk = talking()
    watch(Game.parse(line), talk)
    assert words in said(talk)


def test_the_list_shows_the_newest_games_and_how_to_see_more(store):
    talk = talking()
    print_list(store, talk, 20)
    assert said(talk) == f"no game yet in {store.path}\n"
    store.import_lines(
        [
            "b2 b1 a1 c3 a3 c1 a2 x=human:Ann",
            "a1 ended=resigned result=O origin=web",
            "b2 a1 c3 b1 a3 c1 origin=training",
        ]
    )
    talk = talking()
    print_list(store, talk, 1)
    assert "a1" in said(talk)
    assert "O won, resigned" in said(talk)
    assert "1 of 2 games; more by --list 2" in said(talk)
    talk = talking()
    print_list(store, talk, 20, player="Ann", result="X")
    assert "b2 b1 a1 c3 a3 c1 a2" in said(talk)
    assert "resigned" not in said(talk)
    talk = talking()
    print_list(store, talk, 20, player="Ben")
    assert "no such game" in said(talk)


# --- the menu --------------------------------------------------------------------------------------------------------


def menu(answers, store, rules=None, **about):
    talk = talking("\n".join(answers.split(" ")) + "\n")
    Menu(rules or Rules(), talk, store, seed=1, **about).run()
    return said(talk)


def test_the_menu_is_asked_again_until_it_is_left(store):
    text = menu("7 x 1 quit 6", store)
    assert "please answer 1 to 6, got '7'" in text
    assert "please answer 1 to 6, got 'x'" in text
    assert text.count("1  two players") == 2
    assert "You left the game; it is not kept." in text


def test_perfect_play_is_met_from_the_menu_on_either_side(store):
    menu("2 sideways O resign 6", store)
    assert only(store).side == "O"
    assert only(store).x == Player("agent", "minimax")


def test_on_a_board_that_is_too_large_perfect_play_is_a_search_and_that_is_said(store):
    text = menu("2 X quit 6", store, rules=Rules(5, 5, 4))
    assert "5x5, 4 in a row is too large to be solved" in text


def test_a_learned_agent_is_chosen_from_the_runs(store, tmp_path, monkeypatch, trie):
    monkeypatch.chdir(tmp_path)
    assert "python train.py trie" in menu("3 6", store)
    shutil.copytree(trie, tmp_path / "runs" / "trie-0")
    (tmp_path / "runs" / "broken-0").mkdir()
    (tmp_path / "runs" / "broken-0" / "certificate.json").write_text("{")
    text = menu("3 2 1 X resign 6", store)
    assert "runs/broken-0 is left out: " in text
    assert "1  runs/trie-0: trie, seed 0, can be beaten" in text
    assert "please answer 1, got '2'" in text
    assert only(store).o.name == "runs/trie-0"


def test_two_players_are_watched_from_the_menu(store):
    text = menu("4 1 2 2 0 6", store)
    assert store.count(origin="battle") == 2
    assert "2 games: random (X) won" in text


def test_a_replay_is_chosen_from_the_newest_games(store):
    assert "no game yet" in menu("5 6", store)
    store.import_lines(["b2 b1 a1 c3 a3 c1 a2"])
    text = menu("5 2 0 1 6", store)
    assert "unknown game 2" in text
    assert "move 7 of 7" in text
    assert "move 7 of 7" in menu("5  6", store)
