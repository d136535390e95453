"""evaluate.py: what it prints and writes are the exact results, and what is not exact is said."""

import json
import re
import shutil
from csv import DictReader
from pathlib import Path

import json_certificates
import numpy as np
import pytest
from json_certificates import write_json
from sample_players import CellPlayer, LineCounter
from small_runs import trained
from text_cases import called, rows_of

import evaluate
from apps.terminal import report
from tictactoe_env import RandomPolicy, Rules, make_opponent, tabulate
from tictactoe_env.certificates import __main__ as verifier
from tictactoe_env.certificates.certificate import certify, load_policy, read, write
from tictactoe_env.exact.match import action_values, exact_result
from tictactoe_env.exact.sampling import sampled_result
from tictactoe_env.games.analysis import analyse
from tictactoe_env.notation import parse_board
from tictactoe_env.policy import CanonicalPolicy
from training.files import read_arrays, read_json, write_arrays
from training.values import read_values

RECTANGLE = Rules(2, 4, 3)
SQUARE = Rules(4, 4, 4)


@pytest.fixture(scope="module")
def run(tmp_path_factory, no_charts):
    """The folder of a finished small run, not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "tabular_q-0"
    assert trained("tabular_q", folder) == 0
    return folder


def certified(path, player, rules=None, **about):
    write(certify(player, "somebody", rules or Rules(), **about), path)
    return str(path)


def shown(capsys, *arguments):
    """What a successful call prints; arguments are split at blanks."""
    code, out, err = called(evaluate, " ".join(map(str, arguments)).split(), capsys)
    assert (code, err) == (0, "")
    return out


def error_of(capsys, *arguments):
    """The one line with which a call ends."""
    ended, _, err = called(evaluate, " ".join(map(str, arguments)).split(), capsys)
    assert (ended, err.count("\n")) == (1, 1)
    return err


def test_one_agent_gets_its_verdict_first_and_its_results(capsys):
    printed = shown(capsys, "minimax")
    assert ["O", "random", "77.7484", "22.2516", "0.0000", "+0.7775"] in rows_of(printed)
    assert printed.startswith("PROVEN on 3x3, 3 in a row: cannot be beaten\n")
    assert not re.search("sampled|\x1b", printed)
    assert called(evaluate, [], capsys)[0] == 2


def test_several_agents_get_a_cross_table_and_a_run_has_many_names(
    capsys, run, tmp_path, monkeypatch
):
    printed = shown(capsys, run, "minimax random")
    rows = rows_of(printed)[-3:]
    assert [row[0] for row in rows] == ["minimax", "tabular_q-0", "random"]
    assert (rows[2][1], rows[2][3]) == ("0.0/22.3/77.7", "58.5/12.7/28.8")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "runs/tabular_q-0")
    by_file, by_name = (
        rows_of(shown(capsys, spec)) for spec in (run / "certificate.json", "latest:tabular_q")
    )
    assert [row for row in by_file if row not in rows_of(printed)] == []
    assert by_file == by_name


def test_a_best_response_replies_to_the_only_other_player(capsys, tmp_path, lines):
    """As the best response that is named, on the board of that player."""
    slips = make_opponent("minimax-slip=0.5", RECTANGLE)
    path = certified(tmp_path / "slips.json", slips, RECTANGLE)
    printed = shown(capsys, path, "best-response")
    assert printed == shown(capsys, path, f"best-response:{path}")
    table = rows_of(printed)
    (*_, as_x, _) = (row for row in table if row[:2][-1] == "best response")  # of the weaker player
    win, draw, loss, _ = map(float, as_x[2:])
    of_response, row = table[-2:]
    assert (row[0], row[1]) == ("slips.json", f"{win:.1f}/{draw:.1f}/{loss:.1f}")
    assert of_response[0] == "best-response:slips.json"
    assert "won 0, best-response" in shown(capsys, "gambler best-response --battle 2")
    larger = shown(capsys, lines[0], "best-response")
    assert ["both.json", "0.0/100.0/0.0", "0.0/100.0/0.0"] in rows_of(larger)
    for others in ("", "trie dqn", "best-response"):
        assert "best-response:" in error_of(capsys, others, "best-response")


def test_the_board_is_that_of_the_run_and_what_its_certificate_states_is_not_believed(
    capsys, tmp_path
):
    content = json_certificates.certified(RandomPolicy(), "boaster", RECTANGLE)
    path = write_json(content, tmp_path / "honest.json")
    assert "honest.json: on 2x4, 3 in a row it can be beaten as X (" in shown(
        capsys, "random", path
    )
    for part in (content, content["as_x"], content["as_o"]):
        part.update(optimal=True, unbeatable=True)
    assert "unbeatable" in error_of(capsys, write_json(content, tmp_path / "boaster.json"))


def test_what_cannot_be_proven_gets_a_sampled_table_that_says_so(capsys, tmp_path):
    """A board that is too large, and a search that is ended by a clock."""
    assert "prove nothing" in shown(capsys, "search-seconds=0.001 --board 3x5x3 --games 1")
    path, size = tmp_path / "results.json", "--board 5x5x4 --game-seed 3 --games 100"
    printed = shown(capsys, "random random", size, "--json", path)
    assert "random: results on 5x5, 4 in a row are sampled and prove nothing" in printed
    assert "exact" not in printed
    found = sampled_result(RandomPolicy(), RandomPolicy(), Rules(5, 5, 4), 100, 3)
    stated = json.loads(path.read_text())["sampled"]["random"]["random (2)"]
    assert stated["win"] == found.result.win
    assert stated["intervals"]["draw"] == list(found.intervals["draw"])


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
    printed = shown(capsys, *lines, "--json", path, "--games 4")
    assert "4 sampled games of each" in printed
    assert "PROVEN on 4x4, 4 in a row: cannot be beaten\n" in printed
    assert "PROVEN on 4x4, 4 in a row: cannot be beaten as X; nothing is proven as O" in printed
    results = json.loads(path.read_text())
    assert results["cross_table"]["one.json"]["both.json"]["draw"] == 1
    as_x = results["agents"]["both.json"]["as_x"]
    assert rows_of(printed)[0][:3] == ["X", "random", f"{100 * as_x['vs_random']['win']:.4f}"]
    perfect = exact_result(LineCounter(SQUARE), make_opponent("minimax", SQUARE), SQUARE)
    assert results["vs_minimax"]["both.json"]["X"]["draw"] == pytest.approx(perfect.draw) == 1
    assert rows_of(printed)[1][:4] == ["X", "minimax", "0.0000", "100.0000"]
    assert f"{results['agents']['one.json']['as_x']['decisions']:,}" in printed
    printed = shown(capsys, "--verify", *lines, "--max-megabytes 500")
    assert printed.count("every result follows from the moves") == 2


def test_what_needs_more_positions_than_the_limit_is_sampled_or_refused(capsys, lines):
    limited = "search-depth=1 --board 5x5x4 --max-positions 500 --games 9"
    assert " 500 positions" in " ".join(shown(capsys, limited).split())
    for arguments, limit in (
        ((lines[0], "--max-positions 500"), "500 positions"),
        (("--verify", lines[0], "--max-megabytes 1"), "1 megabytes"),
    ):
        assert limit in error_of(capsys, *arguments)
    assert "5x5" in error_of(capsys, lines[0], "--board 5x5x4")


def test_the_data_hold_all_results_and_agree_with_the_exact_ones(capsys, tmp_path):
    names, path = ["a.json", "minimax", "random"], tmp_path / "results.json"
    known = {"seed": 7, "config": {"steps": 3}}
    specs = [
        certified(
            tmp_path / "a.json", make_opponent("minimax-first", RECTANGLE), RECTANGLE, **known
        ),
        *names[1:],
    ]
    assert str(path) in shown(capsys, *specs, "--games 5 --json", path)
    data = json.loads(path.read_text())
    assert data["sampled"]["random"]["minimax"]["games"] == 5
    assert list(data["agents"]) == list(data["cross_table"]) == names
    assert data["agents"]["a.json"].items() >= {"agent": "somebody", **known}.items()
    players = [tabulate(make_opponent(spec, RECTANGLE), RECTANGLE) for spec in specs]
    for x, name in zip(players, names, strict=True):
        stated = data["agents"][name]
        expected = json_certificates.certified(x, name, RECTANGLE)
        assert (stated["moves"], stated["as_x"]) == (expected["moves"], expected["as_x"])
        for o, cell in zip(players, data["cross_table"][name].values(), strict=True):
            assert cell == {rate: getattr(exact_result(x, o), rate) for rate in cell}


def test_certificates_are_checked_by_the_verifier_of_the_package(capsys, tmp_path):
    path = certified(tmp_path / "beaten.json", RandomPolicy(), RECTANGLE)
    for words, code in (
        ([path, "--verify"], 0),
        (["--verify", path, "--proven"], 3),
        (["--verify", "--max-positions=9", path, tmp_path / "none.json"], 1),
    ):
        found = called(evaluate, list(map(str, words)), capsys)
        assert found == called(
            verifier, [str(word) for word in words if word != "--verify"], capsys
        )
        assert found[0] == code
    code, _, err = called(evaluate, [path, "--verify", "--games", "5"], capsys)
    assert (code, err.count("\n"), "--verify" in err, "--games" in err) == (2, 1, True, True)


def test_a_model_makes_the_certified_moves_or_is_found_out(capsys, run, tmp_path):
    assert "all 4,520 positions" in shown(capsys, run, "minimax --from-model")
    folder = shutil.copytree(run, tmp_path / "run")
    path = folder / "model.safetensors"
    (folder / "manifest.json").unlink()  # it would tell the change before
    tensors, about = read_arrays(path), read_json(path.with_suffix(".json"))
    write_arrays(path, {name: -array for name, array in tensors.items()}, about)
    assert str(folder) in error_of(capsys, folder, "--from-model")
    path.write_bytes(b"")
    assert "model.safetensors" in error_of(capsys, folder, "--from-model")


def test_a_position_is_shown_with_probabilities_values_and_the_truth_of_every_move(capsys, run):
    printed = shown(capsys, f"{run} random minimax --position X.O/.X./...")
    assert shown(capsys, f"{run} random minimax --position a1c1b2") == printed
    board = parse_board("X.O/.X./...", Rules())
    table = load_policy(run)
    values = read_values(run / "values.npz", table, read(run).sha256_of_moves)
    own, probs = values.q_values(board[None])[0], table.probs(board[None])[0]
    expected = action_values("O", table, RandomPolicy(), board=board)
    rows, worths = rows_of(printed), analyse(board, Rules()).moves
    assert [row[0] for row in rows] == 3 * ["b1", "a2", "c2", "a3", "b3", "c3"]
    for row, cell in zip(rows[:6], np.flatnonzero(board == 0), strict=True):
        numbers = [f"{100 * probs[cell]:.1f} %", f"{own[cell]:+.4f}", f"{expected[cell]:+.4f}"]
        assert row[1:] == [*numbers, worths[cell].text]


def test_of_a_position_illegal_moves_are_told_and_what_is_not_known_is_left_open(capsys, tmp_path):
    cell = certified(tmp_path / "cell.json", CellPlayer(0))
    assert "illegal move with probability 1.0000" in shown(capsys, cell, "--position X../.../...")
    text = "X..../...../...../...../....."
    rows = rows_of(shown(capsys, "search-depth=1 --board 5x5x4 --position", text))
    assert {tuple(row[3:]) for row in rows} == {("-", "-")}


def test_agents_of_another_board_are_left_out_and_every_pair_is_a_line_of_a_csv(
    capsys, tmp_path, monkeypatch
):
    """The board is that of most runs. What is wrong is refused before anything is printed."""
    large, one, other = (
        certified(tmp_path / f"{name}.json", make_opponent("minimax", rules), rules)
        for name, rules in (("large", RECTANGLE), ("one", Rules()), ("other", Rules()))
    )
    csv, data = tmp_path / "pairs.csv", tmp_path / "results.json"
    printed = shown(capsys, large, one, other, "random --games 9 --csv", csv, "--json", data)
    assert printed.startswith(f"{large} plays on {RECTANGLE}, not on {Rules()}")
    found = json.loads(data.read_text())
    assert found["left_out"] == {"large.json": f"plays on {RECTANGLE}, not on {Rules()}"}
    lines = list(DictReader(csv.read_text().splitlines()))
    stated = [found["cross_table"], found["sampled"]]
    assert len(lines) == sum(len(row) for table in stated for row in table.values()) == 18
    for line in lines:
        cell = stated[line["games"] == "9"][line["x"]][line["o"]]
        assert {rate: float(line[rate]) for rate in report.RATES}.items() <= cell.items()
    damaged = tmp_path / "damaged.json"
    damaged.write_text(Path(one).read_text().replace('"a1":', '"b2":', 1))
    for wrong in (damaged, "nobody", "minimax-slop=2", tmp_path / "none"):
        code, out, err = called(evaluate, [one, str(wrong)], capsys)
        assert (code, out, err.count("\n")) == (1, "", 1)
    assert str(RECTANGLE) in error_of(capsys, large, "--board 3x3x3")
    for folder in ("study", "random"):  # a name of a player is no folder
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    for words in ("--csv pairs.csv", "--position XO./.../...", "--tree 1"):
        printed = shown(capsys, one, large, f"{tmp_path}/study random", words)
        left_out = [line.split()[0] for line in printed.splitlines() if line.endswith("left out")]
        assert left_out == [f"{tmp_path}/study", large]
    assert "no certificate" in error_of(capsys, tmp_path / "study")
    assert "--csv" in error_of(capsys, "random --csv", tmp_path)
