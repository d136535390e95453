"""agents/trie.py: what it remembers, what it concludes, how it chooses by each rule, and that it learns."""

import time
from dataclasses import asdict, replace

import numpy as np
import pytest
from small_runs import python, saving

from agents import trie as page
from agents.trie import Config, Trie, TriePolicy
from tictactoe_env import match
from tictactoe_env.games import Game, GameStore
from tictactoe_env.notation import parse_board, parse_cell, parse_game
from tictactoe_env.opponents import make_opponent
from tictactoe_env.positions import positions_of
from tictactoe_env.rules import IllegalMoveError, Rules
from tictactoe_env.solver import solve
from training.evaluation import judge, silent
from training.files import DamagedFileError

RULES = Rules()
SMALL = Config(steps=600, judge_every=200)
TOPHEP = Config(**page.PRESETS["tophep"].options, judge_every=5_000)


def bytes_of(folder):
    return (folder / "model.safetensors").read_bytes(), (folder / "model.json").read_bytes()


def board(text):
    return parse_board(text, RULES)[None]


def taught(*games, rule="counting"):
    trie = Trie(RULES, rule)
    for game in games:
        trie.learn(parse_game(game, RULES))
    return trie


def moves(trie, text):
    """The cells that a tree may move to on a board."""
    return set(np.flatnonzero(trie.policy().probs(board(text))[0]).tolist())


def cells(text):
    return {parse_cell(name, RULES) for name in text.split()}


@pytest.fixture(scope="module")
def trained():
    """3,000 games against the default opponents, a tenth of a second."""
    return page.train(Config(steps=3_000, seed=100), silent())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return SMALL, page.train(SMALL, saving(folder)), folder


# --- configuration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"steps": -1}, "steps must be a whole number of at least 0, got -1"),
        ({"seed": 1.5}, "seed must be"),
        ({"judge_every": 0}, "judge_every must be"),
        ({"epsilon": 1.5}, "epsilon must be a probability"),
        ({"side": "bot"}, "did you mean 'both'"),
        ({"rule": "one tie"}, "did you mean 'one-tie'"),
        ({"opponents": "self:1,minmax:1"}, "did you mean 'minimax'"),
        ({"k": 4}, "k must be at most"),
        ({"rows": 4, "cols": 4, "k": 4}, "boards of at most"),
    ],
)
def test_a_bad_configuration_is_refused_with_a_reason(wrong, words):
    with pytest.raises(ValueError, match=words):
        Config(**wrong)


# --- what it remembers ---------------------------------------------------------------------------------------------------


def test_the_tree_prints_who_moved_where_and_how_the_games_ended():
    trie = taught(
        "a1 b1 a2 b2 a3", "a1 b1 a2 b2 a3", "a1 b1 c3 a2 b2", "b2 a1 c3 a3 a2 c2 b1 b3 c1"
    )
    assert trie.text(2).splitlines() == [
        "4 games, 17 sequences of moves, 18 positions of 5,478",
        "1. X a1   X won 3, drawn 0, O won 0",
        "  2. O b1   X won 3, drawn 0, O won 0",
        "1. X b2   X won 0, drawn 1, O won 0",
        "  2. O a1   X won 0, drawn 1, O won 0",
    ]
    assert "        5. X a3   X won: 2" in trie.text(9)
    assert "                9. X c1   drawn: 1" in trie.text(9)
    assert len(trie.text(0).splitlines()) == 1
    assert len(trie.text(9).splitlines()) == 1 + len(trie)


def test_sequences_that_lead_to_the_same_position_are_merged_in_play_and_counted():
    trie = taught("a1 b1 a2 b2 a3", "a2 b2 a1 b1 c1 b3", "a2 b1 a1 b2 a3")
    policy = trie.policy()
    assert policy.sequences(
        np.concatenate([board("XO./XO./..."), board("X../.../..."), board("..X/.../...")])
    ).tolist() == [3, 1, 0]
    assert policy.is_new(np.concatenate([board("XO./XO./..."), board("..X/.../...")])).tolist() == [
        False,
        True,
    ]
    assert moves(trie, "XO./XO./...") == cells("a3")  # though O won in one of the three
    assert (
        len(trie) == 5 + 6 + 4
    )  # the third begins as the second, and has nodes of its own after it


def test_every_game_of_a_file_is_learned_from_and_the_order_does_not_matter(tmp_path):
    games = ["a1 b1 a2 b2 a3", "b2 a1 c3 a3 a2 c2 b1 b3 c1", "a1 b2 a2 a3 c3 c1"]
    (tmp_path / "games.txt").write_text("# three games\n\n" + "\n".join(games) + "\n")
    trie = Trie(RULES)
    assert trie.learn_file(tmp_path / "games.txt") == {"learned": 3}
    assert trie.games == 3
    other = taught(*reversed(games))
    assert trie.text(9) == other.text(9)
    assert (trie.policy().table == other.policy().table).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [("a1 a2", "goes on after 2 moves"), ("a1 a1", "cell 0 is taken"), ("a1 d4", "got 'd4'")],
)
def test_a_line_that_is_no_finished_game_is_named(tmp_path, text, words):
    (tmp_path / "games.txt").write_text(f"a1 b1 a2 b2 a3\n{text}\n")
    with pytest.raises(ValueError, match=rf"line 2 of .*games\.txt: .*{words}"):
        page.train(Config(learn_from=str(tmp_path / "games.txt")), silent())


MIXED = """
a1 b1 a2 b2 a3  x=human:Ann o=agent:minimax
a1 b2 ended=resigned result=O  # from here on nothing can be learned
a1 b2 ended=resigned result=X
a1 a1 ended=illegal
b2 a1 c3 a3 a2 c2 b1 b3 ended=early
a1 b1 a2 b2 a3 b3 a4 board=4x3 k=4
"""
LEFT_OUT = "2 resigned, 1 ended by an illegal move, 1 drawn early, 1 on another board"


@pytest.mark.parametrize("kind", ["store", "text"])
def test_a_store_is_learned_from_like_a_text_and_says_what_was_left_out(tmp_path, kind):
    file = tmp_path / "games"  # it is known by its content
    file.write_text(MIXED)
    if kind == "store":
        with GameStore(tmp_path / "games.db") as store:
            store.import_lines(MIXED.splitlines())
            store.add(Game(moves=(0, 4, 3, 1, 6), origin="training"))
        file = tmp_path / "games.db"
    learned = 1 + (kind == "store")
    trie = Trie(RULES)
    assert trie.learn_file(file)["learned"] == trie.games == learned
    with pytest.warns(UserWarning, match=f"^learned {learned} games? of .*, left out {LEFT_OUT}$"):
        page.train(Config(learn_from=str(file), steps=0), silent())


def test_a_file_without_a_game_to_learn_from_is_refused(tmp_path):
    file = tmp_path / "games"
    for text, got in (
        ("# nothing\n", "none at all"),
        (MIXED.replace("a1 b1 a2 b2 a3  ", "# "), LEFT_OUT),
    ):
        file.write_text(text)
        with pytest.raises(
            ValueError,
            match=f"holds no game to learn from: expected one that was played to its end on 3x3, 3 in a row, got {got}$",
        ):
            Trie(RULES).learn_file(file)
    file.write_text("a1 b1 a2 b2 a3 b3 a4\n")
    assert Trie(Rules(4, 3, 4)).learn_file(file) == {"learned": 1}


def test_the_command_line_learns_from_a_store(tmp_path):
    with GameStore(tmp_path / "games.db") as store:
        store.import_lines(MIXED.splitlines())
    command = ["train.py", "trie", "--steps", 0, "--out", tmp_path / "run", "--learn-from"]
    done = python(*command, tmp_path / "games.db")
    assert done.returncode == 0, done.stderr
    assert (
        f"warning: learned 1 game of {tmp_path / 'games.db'}, left out {LEFT_OUT}\n" in done.stdout
    )
    assert page.load(tmp_path / "run").trie.games == 1
    (tmp_path / "half.db").write_bytes((tmp_path / "games.db").read_bytes()[:9000])
    for name, words in (("half.db", "is damaged"), ("none.db", "there is no file")):
        done = python(
            *command[:-3], "--out", tmp_path / f"run-{words[:2]}", "--learn-from", tmp_path / name
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert words in done.stderr


@pytest.mark.parametrize("game", [[0, 1, 3], [0, 0], [0, 9], [0, -1], [0, 1, 3, 4, 6, 7]])
def test_what_is_no_finished_game_leaves_the_tree_as_it_was(game):
    trie = taught("a1 b1 a2 b2 a3")
    before = trie.text(9)
    with pytest.raises((ValueError, IllegalMoveError)):
        trie.learn(game)
    assert trie.text(9) == before


def test_a_file_alone_is_enough_and_its_games_are_no_steps(tmp_path):
    (tmp_path / "games.txt").write_text("a1 b1 a2 b2 a3\n" * 5)
    seen = []
    policy = page.train(
        Config(learn_from=str(tmp_path / "games.txt"), steps=0),
        lambda steps, policy, save: seen.append(steps),
    )
    assert seen == [0]
    assert policy.trie.games == 5
    assert not policy.is_new(board("XO./XO./..."))[0]


# --- what it concludes -----------------------------------------------------------------------------------------------------


def test_a_reply_that_won_makes_a_move_one_that_is_never_repeated():
    """O let X win by a3; b2 had drawn most of the time before, but it is proven to lose, so O moves anywhere else."""
    trie = taught("a1 b2 a2 b1 a3")
    assert trie.known[positions_of(RULES).rows(board("XO./XO./..."))[0]] == 1
    assert cells("b1").isdisjoint(moves(trie, "X../XO./..."))


def test_a_position_is_lost_once_every_move_there_has_lost():
    """X has two threats; each of O's five moves is refuted in a game of its own."""
    text = "X.X/.O./X.O"
    free = [
        (cell, name)
        for cell, name in enumerate(["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"])
        if parse_board(text, RULES)[cell] == 0
    ]
    trie, row = Trie(RULES), positions_of(RULES).rows(board(text))[0]
    for cell, name in free:
        assert trie.known[row] == 0
        win = "b1" if name != "b1" else "a2"
        trie.learn(parse_game(f"a1 b2 c1 c3 a3 {name} {win}", RULES))
        assert trie.known[trie.positions.children[row, cell]] == 1
    assert trie.known[row] == -1
    before = positions_of(RULES).rows(board("X.X/.O./..O"))[0]
    assert trie.known[before] == 1  # and so X's move there wins


def test_what_it_concludes_from_some_games_is_what_the_solver_says(trained):
    known, value = np.array(trained.trie.known), solve(RULES).value
    assert (known != 0).sum() > 500
    assert (known[known != 0] == value[known != 0]).all()


def test_what_it_knows_depends_on_the_games_and_not_on_their_order(trained, tmp_path):
    """A tree that is read from a file is filled at once, the trained one game by game."""
    page.save(tmp_path, Config(), trained.trie, 3_000, np.random.default_rng(0))
    again = page.load(tmp_path).trie
    for name in (
        "edges",
        "keys",
        "row_of_node",
        "results",
        "counts",
        "sequences",
        "known",
        "score",
    ):
        assert getattr(again, name) == getattr(trained.trie, name), name


# --- how it chooses --------------------------------------------------------------------------------------------------------


def test_counting_takes_the_best_mean_of_what_it_tried():
    """After b2 X won once and drew once; after a1 it lost twice; of what was never tried nothing is known."""
    trie = taught(
        "b2 a1 c3 a3 a2 c2 b1 b3 c1", "b2 b1 a1 b3 c3", "a1 b2 b1 c1 c2 a3", "a1 a2 b1 b2 a3 c2"
    )
    assert moves(trie, ".../.../...") == cells("b2")


def test_counting_tries_what_is_new_in_training_only():
    trie = taught("b2 b1 a1 b3 c3")
    assert {trie.choose(0, draw) for draw in np.arange(8) / 8 + 0.01} == set(range(9)) - cells("b2")
    assert moves(trie, ".../.../...") == cells("b2")


def test_one_tie_makes_a_move_good_to_the_other_rule():
    """O has to stop a3. The move b1 lost ten times and drew once, when X overlooked it; the others, a3 too, have only lost."""
    lost = [f"a1 b2 a2 {name} a3" for name in ("c1", "c2", "c3", "b3", *["b1"] * 10)]
    games = [*lost, "a1 b2 a2 a3 c1 c3 b1", "a1 b2 a2 b1 b3 a3 c1 c2 c3"]
    assert moves(taught(*games, rule="one-tie"), "X../XO./...") == cells("b1")
    assert moves(taught(*games), "X../XO./...") == cells("a3")


def test_one_tie_prefers_what_ended_a_game_well_then_what_is_new():
    trie = taught("a1 b1 a2 b2 a3", rule="one-tie")
    assert moves(trie, "XO./XO./...") == cells("a3")
    assert moves(trie, ".../.../...") == set(range(9)) - cells("a1")


def test_a_board_of_which_nothing_is_known_is_played_at_random_on_free_cells():
    for rule in page.RULES_OF_CHOICE:
        probs = Trie(RULES, rule).policy().probs(board("X.O/.../..."))
        assert probs == pytest.approx(np.array([[0, 1, 0, 1, 1, 1, 1, 1, 1]]) / 7)


def test_the_rule_of_one_tie_looks_mastered_and_is_beaten_almost_surely():
    """tophep/TicTacToe after 10,000 games as O against perfect play: draws with it, 95.83 % lost to the best opponent."""
    policy = page.train(TOPHEP, silent())
    perfect = make_opponent("minimax", RULES)
    assert match.exact_result_as("O", policy, perfect).draw > 0.95
    assert match.best_responses(policy)["O"].loss > 0.9
    assert match.best_responses(policy)["X"].loss == 1.0


# --- training ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "counts"), [("both", (300, 300)), ("X", (600, 0)), ("O", (0, 600))]
)
def test_it_plays_the_side_that_was_asked_for(monkeypatch, side, counts):
    sides, plain = [], page.play
    monkeypatch.setattr(
        page,
        "play",
        lambda trie, opponent, side, *rest: (
            sides.append(side),
            plain(trie, opponent, side, *rest),
        )[1],
    )
    page.train(replace(SMALL, side=side), silent())
    assert (sides.count(0), sides.count(1)) == counts


def test_opponents_are_drawn_by_their_weights_and_self_is_the_tree():
    pool = page.Pool("random:0.5,self:0.25,minimax:0.25", RULES)
    assert [
        pool.players.index(pool.draw(number)) for number in (0.0, 0.49, 0.5, 0.74, 0.76, 0.999)
    ] == [0, 0, 1, 1, 2, 2]
    assert pool.draw(0.6) is None


def test_every_game_that_it_plays_is_learned_from(run):
    _, policy, _ = run
    assert isinstance(policy, TriePolicy)
    assert policy.trie.games == SMALL.steps
    assert len(policy.trie) > SMALL.steps


@pytest.mark.parametrize("steps", [200, 310])
@pytest.mark.parametrize("rule", page.RULES_OF_CHOICE)
def test_a_run_that_was_interrupted_goes_on_bit_by_bit(tmp_path, rule, steps):
    config = replace(SMALL, rule=rule, opponents="random:1,minimax-first:1,self:1")
    page.train(config, saving(tmp_path / "whole"))
    page.train(replace(config, steps=steps), saving(tmp_path / "part"))
    page.train(config, saving(tmp_path / "rest"), resume=tmp_path / "part")
    assert (tmp_path / "whole" / "model.safetensors").read_bytes() == (
        tmp_path / "rest" / "model.safetensors"
    ).read_bytes()


# --- files -------------------------------------------------------------------------------------------------------------------


def test_a_saved_tree_plays_the_same_and_learns_on(run):
    _, policy, folder = run
    loaded = page.load(folder)
    assert (loaded.table == policy.table).all()
    assert loaded.trie.text(9) == policy.trie.text(9)
    loaded.trie.learn(parse_game("a1 b1 a2 b2 a3", RULES))
    assert loaded.trie.games == SMALL.steps + 1


def test_a_tree_of_no_games_is_saved_and_loaded(tmp_path):
    page.train(Config(steps=0), saving(tmp_path))
    assert len(page.load(tmp_path).trie) == 0
    assert page.load(tmp_path).is_new(board("X../.../..."))[0]


@pytest.mark.parametrize("keys", [[9], [0, 0], [-1], [0, 9], [4, 2**40]])
def test_a_tree_whose_nodes_do_not_follow_from_each_other_is_refused(tmp_path, keys):
    """A node that is its own parent, twice the same, before the root, a taken cell, beyond the end."""
    about = {"agent": "trie", "config": asdict(Config()), "steps": 0}
    page.write_arrays(
        tmp_path / "model.safetensors",
        {"keys": np.array(keys), "results": np.ones((3, len(keys) + 1), dtype=np.int64)},
        about,
    )
    with pytest.raises(DamagedFileError, match="holds no tree"):
        page.load(tmp_path)


def test_the_tree_of_a_run_is_printed_to_a_depth_without_torch(run):
    done = python("-X", "importtime", "-m", "agents.trie", run[2], "--depth", 1)
    assert len(done.stdout.splitlines()) == 1 + 9
    assert done.stdout.startswith("600 games, ")
    assert "torch" not in done.stderr
    assert python("-m", "agents.trie", run[2] / "nothing").returncode == 2


# --- learning ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_every_seed_becomes_unbeatable_on_both_sides(seed):
    """As X it wins more than 97 % against random, an untrained tree loses to anyone."""
    figures = judge(page.train(Config(seed=seed), silent("unbeatable")))
    assert figures.unbeatable
    assert figures.x.win > 0.97


@pytest.mark.slow
def test_ten_thousand_games_take_less_than_three_seconds():
    began = time.perf_counter()
    page.train(Config(steps=10_000), silent("optimal"))
    assert time.perf_counter() - began < 3


@pytest.mark.slow
def test_all_games_there_are_make_the_whole_tree_and_prove_every_value():
    """255,168 games, 549,946 sequences with the empty one; what is proven is what the solver says, of every position."""
    trie, positions = Trie(RULES), positions_of(RULES)

    def play_all(cells, row):
        if positions.is_over[row]:
            trie.learn(cells)
        for cell, child in enumerate(trie.after[row]):
            if child >= 0:
                play_all([*cells, cell], child)

    play_all([], 0)
    assert trie.games == 255_168
    assert [result[0] for result in trie.results] == [131_184, 46_080, 77_904]
    assert len(trie) + 1 == 549_946
    assert min(trie.sequences) > 0
    assert trie.known == solve(RULES).value.tolist()
    assert judge(trie.policy()).unbeatable


@pytest.mark.slow
def test_it_learns_a_board_that_is_not_square():
    """Three in a row on two rows of four is drawn with best play."""
    assert judge(page.train(Config(rows=2, cols=4), silent("unbeatable"))).unbeatable
