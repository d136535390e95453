import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from sample_players import CellPlayer, LineCounter, best_player, random_probs
from small_runs import ROOT, trained, without
from text_cases import called, cases, rows_of

import evaluate
from terminal import proving
from tictactoe_env import RandomPolicy, Rules, TabularPolicy, make_opponent, match, tabulate
from tictactoe_env.analysis import truth
from tictactoe_env.canonical import CanonicalPolicy
from tictactoe_env.certificate import certify, load_policy, read, write
from tictactoe_env.notation import parse_board
from tictactoe_env.own_values import read_values
from tictactoe_env.policy import MinimaxPolicy
from training.files import read_arrays, write_arrays

RECTANGLE = Rules(2, 4, 3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished small run, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "dqn-0"
    assert trained("dqn", folder) == 0
    return folder


def certified(path, player, rules=None, **about):
    write(certify(player, "somebody", rules or Rules(), **about), path)
    return str(path)


def shown(capsys, *arguments):
    """What a successful call prints; arguments are split at blanks."""
    code, out, err = called(evaluate, " ".join(map(str, arguments)).split(), capsys)
    assert (code, err) == (0, "")
    return out


def error_of(capsys, *arguments, code=1):
    """The one line with which a call ends."""
    ended, _, err = called(evaluate, " ".join(map(str, arguments)).split(), capsys)
    assert (ended, err.count("\n")) == (code, 1)
    assert err.startswith("evaluate.py: ")
    return err


def test_one_agent_gets_its_results_its_first_moves_and_a_game_against_random(capsys, tmp_path):
    printed = shown(capsys, "minimax")
    assert "minimax on 3x3, 3 in a row\n" in printed
    assert ["O", "random", "77.7484", "22.2516", "0.0000", "0.0000"] in rows_of(printed)
    assert (
        "PROVEN on 3x3, 3 in a row: unbeatable as X and as O, not optimal: a player that never "
        in printed
    )
    assert (
        "own values of the first moves (exact result with best play of both sides: win" in printed
    )
    assert "an example game, minimax as X against random as O: " in printed
    assert not re.search("everyone|each as X|sampled|\x1b", printed)
    certified(tmp_path / "random", CellPlayer(0))
    calls = [f"random --game-seed {seed}" for seed in (1, 1, 2, 3, 4)]
    first, again, *others, cell = (
        re.search("\nan example game.*: (.*)\n", shown(capsys, call))[1]
        for call in (*calls, tmp_path / "random")
    )
    assert first == again
    assert {first} < {first, *others}
    assert cell != "a1 a1", "the opponent is random play, not the agent called random"


def test_several_agents_get_a_cross_table_and_a_game_of_the_first_against_the_last(
    capsys, run, tmp_path, monkeypatch
):
    best = certified(tmp_path / "best.json", best_player(Rules()))
    printed = shown(capsys, run, best, "minimax-slip=0.5 random")
    assert printed.count("own values of the first moves (expected reward: win 1, draw 0, lo") == 1
    assert printed.count("own values of the first moves (exact result") == 1
    assert printed.count("results of the first moves against random play (wins minus losses") == 2
    drawn = printed.partition("results of the first moves")[2].splitlines()[2:5]
    shown_values = [float(number) for line in drawn for number in line.split()[1:]]
    exact = match.action_values("X", best_player(Rules()), RandomPolicy())
    assert np.allclose(shown_values, exact, atol=0.005)
    assert "an example game, dqn-0 as X against random as O: " in printed
    rows = [row for row in rows_of(printed) if len(row) == 5]
    assert [row[0] for row in rows] == ["dqn-0", "best.json", "minimax-slip=0.5", "random"]
    assert rows[1][4] == "99.5/0.5/0.0"
    assert (rows[3][2], rows[3][4]) == ("0.0/8.4/91.6", "58.5/12.7/28.8")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "runs/dqn-0")
    by_file, by_name = (
        rows_of(shown(capsys, spec)) for spec in (run / "certificate.json", "latest:dqn")
    )
    assert by_file == by_name == rows_of(printed)[:6]


@pytest.mark.parametrize(
    "rules", [Rules(2, 3, 3), pytest.param(Rules(3, 4, 3), marks=pytest.mark.slow)], ids=str
)
def test_boards_of_other_sizes_are_evaluated_too(capsys, rules):
    size = f"--rows {rules.rows} --cols {rules.cols} --k {rules.k}"
    printed = shown(capsys, size, "minimax random")
    assert f"minimax on {rules}\n" in printed
    exact = match.exact_result(MinimaxPolicy(rules), RandomPolicy(), rules)
    rates = "/".join(f"{100 * rate:.1f}" for rate in (exact.win, exact.draw, exact.loss))
    assert next(row for row in rows_of(printed) if len(row) == 3)[2] == rates
    assert ("(no O can avoid it on this board)" in printed) == (rules.rows == 3), "X wins on 3x4"


def test_the_board_is_that_of_the_run_and_its_results_are_computed_and_not_believed(
    capsys, tmp_path
):
    content = certify(RandomPolicy(), "boaster", RECTANGLE)
    for part in (content, content["as_x"], content["as_o"]):
        part.update(optimal=True, unbeatable=True)
    write(content, tmp_path / "boaster.json")
    printed = shown(capsys, "random", tmp_path / "boaster.json")
    assert "boaster on 2x4, 3 in a row" in printed
    assert (
        "\non 2x4, 3 in a row it can be beaten as X and as O\n"
        in printed.partition("boaster on")[2]
    )
    error = error_of(capsys, tmp_path / "boaster.json", "--rows 3 --cols 3")
    assert "plays on 2x4, 3 in a row, not on 3x3, 3 in a row" in error


def test_a_search_by_the_clock_is_not_proven_and_one_by_chance_for_its_seed(capsys):
    reason = "its search is ended by a clock"
    assert reason in error_of(capsys, "search-seconds=0.01 --rows 2 --cols 3")
    assert reason in error_of(capsys, "mcts-milliseconds=1 --rows 2 --cols 3")
    printed = shown(capsys, "search-seconds=0.001 --rows 3 --cols 5 --games 1")
    assert f"results are sampled and prove nothing, because {reason} (seconds)" in printed
    for name, seed in (("mcts-playouts=2", 0), ("mcts-playouts=2-seed=5", 5)):
        printed = shown(capsys, f"{name} --rows 2 --cols 3")
        assert f"{name} on 2x3, 3 in a row, seed {seed}\n" in printed
        another = (
            f"hold for seed {seed} of its random numbers, with which it plays everywhere; mcts"
        )
        assert f"{another}-playouts=2-seed={seed + 1} is another player\n" in printed


def test_games_that_are_counted_stand_beside_the_exact_rates(capsys, tmp_path):
    path = tmp_path / "results.json"
    printed = shown(capsys, "random --games 1000 --game-seed 4 --json", path)
    rows = rows_of(printed)
    assert rows[0][:3] == ["X", "random", "58.4921"]
    assert rows[1][:2] == ["X", "random, 1,000 games, sampled"]
    assert "sampled: with 95 % Wilson intervals in brackets; all other results are ex" in printed
    counted = json.loads(path.read_text())["sampled_against_random"]["random"]
    for side, name in itertools.product("XO", ("win", "draw", "loss")):
        low, high = counted[side]["intervals"][name]
        exact = getattr(match.result_vs_random(side, RandomPolicy()), name)
        assert low < exact < high, "holds for this seed; an interval misses one time in twenty"
        assert low < counted[side][name] < high


def test_a_board_too_large_to_be_proven_gets_a_sampled_table(capsys, tmp_path):
    path, size = tmp_path / "results.json", "--rows 5 --cols 5 --k 4 --game-seed 3"
    printed = shown(capsys, "random random", size, "--json", path)
    assert "random on 5x5, 4 in a row: results are sampled and prove nothing, because it" in printed
    assert "sampled, 1,000 games, 95 % interval" in printed
    assert "exact" not in printed
    results = json.loads(path.read_text())["sampled"]
    found = match.sampled_result(RandomPolicy(), RandomPolicy(), Rules(5, 5, 4), 1000, 3)
    assert list(results) == list(results["random"]) == ["random", "random (2)"]
    assert results["random"]["random (2)"]["win"] == found.result.win
    assert results["random"]["random (2)"]["intervals"]["draw"] == list(found.intervals["draw"])
    size = "--rows 2 --cols 7 --k 7 --games 20 --max-positions 0"
    printed = shown(capsys, "minimax random", size)
    assert (
        "minimax on 2x7, 7 in a row: results are sampled and prove nothing, as --max-pos" in printed
    )
    assert "sampled, 20 games, 95 % interval" in printed
    pairs = itertools.product(("minimax", "random"), repeat=2)
    assert [tuple(row[:2]) for row in rows_of(printed)] == list(pairs)


SQUARE = Rules(4, 4, 4)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A certificate of 4x4, and one of X only."""
    folder, player = tmp_path_factory.mktemp("lines"), LineCounter(SQUARE)
    form = CanonicalPolicy(player, SQUARE)
    return certified(folder / "both.json", form, SQUARE), certified(
        folder / "one.json", player, SQUARE, config={"side": "X"}
    )


def test_agents_of_larger_boards_are_proven_by_what_they_can_meet(capsys, tmp_path, lines):
    path = tmp_path / "results.json"
    printed = shown(capsys, *lines, "--json", path)
    assert "PROVEN on 4x4, 4 in a row: unbeatable as X and as O" in printed
    assert "PROVEN on 4x4, 4 in a row: unbeatable as X (nothing is proven as O)" in printed
    assert ", symmetric ones counted once" in printed
    results = json.loads(path.read_text())
    assert results["cross_table"]["one.json"]["both.json"]["draw"] == 1
    assert results["cross_table"]["both.json"] == {
        "both.json": results["cross_table"]["one.json"]["both.json"]
    }
    rows = rows_of(printed)
    stated = results["agents"]["both.json"]["as_x"]["vs_random"]
    assert rows[0][:3] == ["X", "random", f"{100 * stated['win']:.4f}"]
    decisions = results["agents"]["one.json"]["as_x"]["decisions"]
    assert f"moves in {decisions:,} of them" in printed
    assert 20_000 < decisions < 30_000, "a similar player was measured at 26,019"


def test_an_agent_that_is_too_wide_is_sampled_and_a_certificate_is_refused(capsys, lines):
    printed = shown(capsys, "search-depth=1 --rows 5 --cols 5 --k 4 --max-positions 500 --games 9")
    text = "search-depth=1 on 5x5, 4 in a row: results are sampled and prove nothing, because the "
    assert " ".join(printed.split()).startswith(text)
    assert "more than the limit of 500 positions" in " ".join(printed.split())
    assert "sampled, 9 games" in printed
    error = error_of(capsys, lines[0], "--max-positions 500")
    assert "more than the limit of 500 positions" in error
    assert "--max-positions and --max-megabytes set the limit" in error
    error = error_of(capsys, lines[0], "--rows 5 --cols 5 --k 4")
    assert "plays on 4x4, 4 in a row, not on 5x5, 4 in a row" in error


def test_certificates_of_lines_are_verified_within_the_limit(capsys, lines, tmp_path):
    printed = shown(capsys, "--verify", *lines, "--max-megabytes 500")
    assert printed.count("every result follows from the moves") == 2
    assert "PROVEN on 4x4, 4 in a row: unbeatable as X (nothing is proven as O)" in printed
    error = error_of(capsys, "--verify", lines[0], "--max-megabytes 1")
    assert "more than the limit of 1 megabytes" in error
    content = json.loads(Path(lines[0]).read_text())
    content["as_x"]["positions"] += 1
    (tmp_path / "boaster.json").write_text(json.dumps(content))
    assert "as_x.positions is " in error_of(capsys, "--verify", tmp_path / "boaster.json")


def test_progress_of_a_proof_is_one_line_of_a_terminal_and_now_and_then_a_line_of_a_file(
    monkeypatch, capsys
):
    text = "proving lines as X: ply 3 of 16, 1,234 positions"
    with proving.shown("lines", SQUARE) as progress:
        progress("X", 3, 1234)
        assert capsys.readouterr().err == "", "a quick proof leaves nothing in a log"
        monkeypatch.setattr(proving, "FILE_SECONDS", 0)
        progress("X", 3, 1234)
    assert capsys.readouterr().err == f"{text}\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with proving.shown("lines", SQUARE) as progress:
        progress("X", 3, 1234)
        assert capsys.readouterr().err == f"\r{text}"
    assert set(capsys.readouterr().err) == {"\r", " "}


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE], ids=str)
def test_the_data_hold_all_results_and_agree_with_the_exact_ones(capsys, rules, tmp_path):
    names, path = ["a.json", "minimax", "random"], tmp_path / "results.json"
    stochastic = TabularPolicy(rules, random_probs(rules, np.random.default_rng(0)))
    known, stated = {"seed": 7, "config": {"steps": 3}}, ("seed", "config", "versions")
    specs = [certified(tmp_path / "a.json", stochastic, rules, **known), *names[1:]]
    assert f"results: {path}\n" in shown(capsys, *specs, "--json", path)
    data = json.loads(path.read_text())
    assert data.keys() == {"agents", "cross_table"}
    assert list(data["agents"]) == list(data["cross_table"]) == names
    players = [tabulate(make_opponent(spec, rules), rules) for spec in specs]
    for player, content in zip(players, data["agents"].values(), strict=True):
        expected = json.loads(json.dumps(certify(player, content["agent"], rules)))
        assert content | dict.fromkeys(stated) == expected | dict.fromkeys(stated)
    assert data["agents"]["a.json"].items() >= {"agent": "somebody", **known}.items()
    assert data["agents"]["minimax"]["agent"] == "minimax"
    for x, row in zip(players, data["cross_table"].values(), strict=True):
        assert list(row) == names
        for o, cell in zip(players, row.values(), strict=True):
            assert cell == {rate: getattr(match.exact_result(x, o), rate) for rate in cell}


EVALUATE = "import evaluate; sys.exit(evaluate.main(sys.argv[1:]))"


def test_the_data_are_written_though_nobody_reads_the_rest_of_the_output(tmp_path):
    """As in `evaluate.py ... --json FILE | head`."""
    path = tmp_path / "found.json"
    command = [sys.executable, "evaluate.py", "minimax", "random", "--json", str(path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")
    assert set(json.loads(path.read_text())["agents"]) == {"minimax", "random"}


@pytest.mark.parametrize("size", ["--board 2x4x3", "--board 2x4", "--rows 2 --cols 4 --k 3"])
def test_a_board_is_named_by_its_size_or_by_each_number(capsys, size):
    assert "minimax on 2x4, 3 in a row\n" in shown(capsys, "minimax", size)
    assert "leave --cols out" in error_of(capsys, "minimax --cols 4 --board 2x4x3")


def test_a_good_certificate_is_verified_without_torch_and_without_rich(run):
    packages = "torch rich stable_baselines3 safetensors matplotlib"
    text = without(packages, EVALUATE, "--verify", run / "certificate.json", run)
    said, verdict, again, _ = text.splitlines()
    assert said == (
        f'verified: {run / "certificate.json"} ("dqn"), 4,520 positions of 3x3, 3 in a row: '
        "every result follows from the moves; name, seed, configuration and times cannot be "
        "verified"
    )
    assert verdict.startswith("on 3x3, 3 in a row it can be beaten as ")
    assert again.startswith(f'verified: {run} ("dqn")')


def test_several_certificates_are_verified_at_once_and_each_wrong_one_is_named(capsys, tmp_path):
    good = certified(tmp_path / "good.json", RandomPolicy())
    best = certified(tmp_path / "best.json", best_player(Rules()))
    bad, none = tmp_path / "bad.json", tmp_path / "none.json"
    write({**certify(RandomPolicy(), "boaster"), "optimal": True}, bad)
    paths = list(map(str, (good, bad, none, best)))
    code, out, err = called(evaluate, ["--verify", *paths], capsys)
    starts = [f"verified: {good}", "on 3x3, ", f"verified: {best}", "PROVEN on 3x3, "]
    lines = zip(out.splitlines(), starts, strict=True)
    assert all(line.startswith(start) for line, start in lines)
    assert (code, [line.split(" ")[1] for line in err.splitlines()]) == (1, [f"{bad}:", f"{none}:"])
    assert "optimal is False when computed from the moves" in err


def test_a_file_that_is_damaged_or_missing_is_named(tmp_path, capsys, run):
    text = (run / "certificate.json").read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    (tmp_path / "other.json").write_text('{"format": 1}')
    for file, said, verified in (
        ("none.json", "no saved run or certificate at", "no certificate at"),
        ("cut.json", *["cut.json is damaged: it is not JSON"] * 2),
        ("other.json", *["this is not a certificate"] * 2),
    ):
        assert said in error_of(capsys, tmp_path / file)
        assert verified in error_of(capsys, "--verify", tmp_path / file)


def test_a_model_makes_the_certified_moves_or_is_found_out(capsys, run, tmp_path):
    printed = shown(capsys, run, "minimax --from-model")
    assert f"{run}: the model makes the certified move in all 4,520 positions\n" in printed
    folder = shutil.copytree(run, tmp_path / "run")
    path = folder / "model.safetensors"
    (folder / "manifest.json").unlink()  # it would tell the change before
    tensors, about = read_arrays(path)
    write_arrays(path, {name: -array for name, array in tensors.items()}, about)
    said = error_of(capsys, folder, "--from-model")
    assert f"the model of {folder} differs from its certificate in " in said
    assert said.endswith(" of 4,520 positions\n")
    path.write_bytes(b"")
    assert "model.safetensors is damaged" in error_of(capsys, folder, "--from-model")
    alone = shutil.copy(run / "certificate.json", tmp_path / "alone.json")
    assert "--from-model needs the folder of a run" in error_of(capsys, alone, "--from-model")
    for agent, message in (("somebody", "unknown agent 'somebody'"), (["dqn"], "must be short")):
        write({**certify(RandomPolicy(), "somebody"), "agent": agent}, folder / "certificate.json")
        assert message in error_of(capsys, folder, "--from-model")


def test_help_and_results_need_no_torch(capsys):
    text = without("torch", EVALUATE, "--help")
    assert all(word in text for word in ["--json", "--from-model", "--rows", "minimax-slip=0.1"])
    assert "PROVEN" in without("torch", EVALUATE, "minimax", "random")
    code, out, err = called(evaluate, [], capsys)
    assert (code, out.startswith("Usage: evaluate.py"), err) == (2, True, "")


REFUSED = """
    latest:trie | 1 | no run of 'trie' in models/ or runs/ (runs there: none): train one with `py
    random minimax --rows 5 --cols 5 --k 4 | 1 | too many to enumerate: at most 16 cells can
    minimax --rows 9 --cols 9 | 1 | use a smaller one
    random --k 4 | 1 | k must be at most max(rows, cols) = 3, got 4
    odd.json | 1 | the training of a certificate must hold steps and seconds
    random --verify f.json | 1 | --verify only checks certificates: leave agents out
    --verify f.json --json g.json --games 5 | 1 | leave json, games out
    random --battle 2 | 1 | --battle only plays games between two agents
    random minimax --battle 2 --games 5 | 1 | --battle only plays games between two agents
    random --json none/results.json | 1 | --json must be a file in a folder that exists, got no
    human --board .../.../... | 1 | unknown agent 'human'
    minimax --board XO/X | 1 | a board of 2x2 must be 2 rows of 2 cells joined by "/", got 'XO/X'
    minimax --board X.Z/.../... | 1 | a board must hold only "X", "O" and ".", got ['Z']
    minimax --board XX./.../... | 1 | X moves first, so a board has as many X as O or one more
    minimax --board XXX/OO./... | 1 | the game is over on 'XXX/OO./...' (X has won): give a board
    minimax --board XOX/XOO/OXX | 1 | the game is over on 'XOX/XOO/OXX' (a draw): give a board
    minimax --rows 3 --board XO../..../..XX | 1 | X moves first, so a board has as many X as O
    minimax --rows 4 --board .../.../... | 1 | a board of 4x3 must be 4 rows of 3 cells
    --board .../.../... | 1 | --board shows what agents think: name one, such as minimax or a run
    minimax --board .../.../... --games 3 | 1 | --board only shows one position: leave --games out
    random --json . | 1 | --json must be a file in a folder that exists, got .
    --jsn f | 2 | unknown option '--jsn'; did you mean '--json'? (known: --battle, --board, --co
    --rows 0 | 2 | --rows: expected a whole number of at least 1, got '0'
    --game-seed -1 | 2 | --game-seed: expected a whole number of at least 0
"""


@pytest.mark.parametrize(("arguments", "code", "said"), cases(REFUSED))
def test_what_is_wrong_is_said_in_one_line(arguments, code, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    certified(tmp_path / "odd.json", RandomPolicy(), training={"steps": 1})
    assert said in error_of(capsys, arguments, code=int(code))


def test_ctrl_c_ends_an_evaluation_in_a_line(capsys, monkeypatch):
    monkeypatch.setattr(evaluate, "evaluate_all", Mock(side_effect=KeyboardInterrupt))
    assert error_of(capsys, "minimax", code=130) == "evaluate.py: interrupted\n"


def test_a_position_is_shown_with_probabilities_values_and_the_truth_of_every_move(
    capsys, run, tmp_path
):
    path = tmp_path / "position.json"
    called_with = f"{run} {run / 'certificate.json'} random minimax-slip=0.5 --json {path} --board"
    printed = shown(capsys, called_with, "X.O/.X./...")
    assert '"X.O/.X./..." on 3x3, 3 in a row: O to move, who draws with best play\n' in printed
    assert "own value: expected reward: win 1, draw 0, loss -2\n" in printed
    assert "own value: it has none, only probabilities\n" in printed
    board = parse_board("X.O/.X./...", Rules())
    table = load_policy(run)
    values = read_values(run / "values.npz", table, read(run)["sha256_of_moves"])
    own, probs = values.q_values(board[None])[0], table.probs(board[None])[0]
    expected = match.action_values("O", table, RandomPolicy(), board=board)
    rows, worths = rows_of(printed), truth(board, Rules()).moves
    assert [row[0] for row in rows] == 4 * ["b1", "a2", "c2", "a3", "b3", "c3"]
    for row, cell in zip(rows[:6], np.flatnonzero(board == 0), strict=True):
        numbers = [f"{100 * probs[cell]:.1f} %", f"{own[cell]:+.4f}", f"{expected[cell]:+.4f}"]
        assert row[1:] == [*numbers, worths[cell].text]
    assert rows[6:12] == rows[:6], "by the path of its certificate too"
    assert rows[12][1:] == ["16.7 %", "-", rows[12][3], "loses to the next move"]
    assert rows[-1][2::2] == ["+0.0000", "draws"]
    data = json.loads(path.read_text())["position"]
    assert (data["board"], data["to_move"], data["k"]) == ("X.O/.X./...", "O", 3)
    assert data["truth"]["moves"]["c3"] == {"value": 0, "plies": 6, "text": "draws"}
    first = data["agents"]["dqn-0"]
    assert first["values"]["own"]["values"]["c3"] == float(own[8])
    assert first["values"]["expected"]["values"]["c3"] == pytest.approx(expected[8])
    assert list(data["agents"]["random"]["values"]) == ["expected"]


def test_a_position_of_any_board_is_shown_and_what_is_not_known_of_it_is_left_open(capsys):
    text = "X..../...../...../...../....."
    printed = shown(capsys, "search-depth=2 --k 4 --board", text)
    assert "O to move; too large for exact results\n" in printed
    rows = rows_of(printed)
    assert len(rows) == 24
    assert {tuple(row[3:]) for row in rows} == {("-", "-")}
    printed = shown(capsys, "minimax --board", "X./..")
    assert "on 2x2, 2 in a row: O to move, who loses to the next move with best play" in printed
    printed = shown(capsys, "minimax --k 4 --board", "XO../..../....")
    assert '"XO../..../...." on 3x4, 4 in a row: X to move' in printed


def test_a_battle_of_any_two_agents_is_printed_and_written_on_any_board(capsys, tmp_path):
    path = tmp_path / "battle.json"
    printed = shown(capsys, "minimax mcts-playouts=20 --battle 2 --json", path)
    result = json.loads(path.read_text())["battle"]
    game = f"minimax as X against mcts-playouts=20 as O: {result['games'][0]['moves']}"
    assert f"game 1 of 2, {game}" in printed
    assert sum(result["won"].values()) + result["drawn"] == len(result["games"]) == 2
    assert "win %" not in printed, "nothing else is computed"
    printed = shown(capsys, "search-depth=2 random --battle 1 --rows 5 --cols 5 --k 4")
    assert "game 1 of 1, search-depth=2 as X against random as O" in printed
