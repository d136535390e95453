import json
import shutil

import numpy as np
import pytest
from sample_players import CellPlayer, best_player, fixed_table, random_probs
from small_runs import python, trained

import evaluate
from tictactoe_env import match
from tictactoe_env.certificate import certify, write
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, TabularPolicy, tabulate
from tictactoe_env.rules import Rules
from training.files import read_tensors, write_tensors

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
    assert evaluate.main(" ".join(map(str, arguments)).split()) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def error_of(capsys, *arguments):
    """The one line with which a call ends, and exit code 1."""
    assert evaluate.main(" ".join(map(str, arguments)).split()) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("evaluate.py: ")
    assert printed.err.count("\n") == 1
    return printed.err


def rows_of(text):
    lines = (line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│"))
    return [[cell.strip() for cell in line] for line in lines]


def game_of(text):
    return next(line for line in text.splitlines() if line.startswith("an example game"))


# --- what is shown ----------------------------------------------------------------------------


def test_one_agent_gets_its_results_its_first_moves_and_a_game_against_random(capsys):
    printed = shown(capsys, "minimax")
    assert "minimax on 3x3, 3 in a row\n" in printed
    assert ["O", "random", "77.7484", "22.2516", "0.0000", "0.0000"] in rows_of(printed)
    assert "PROVEN: unbeatable as X and as O; a player that never loses could win" in printed
    assert "Q of the empty board" in printed
    assert "an example game, minimax as X against random as O: " in printed
    assert "everyone" not in printed
    assert "\x1b" not in printed


def test_several_agents_get_a_cross_table_and_a_game_of_the_first_against_the_last(
    capsys, run, tmp_path
):
    best = certified(tmp_path / "best.json", best_player(Rules()))
    printed = shown(capsys, run, best, "minimax-slip=0.5 random")
    assert printed.count("Q of the empty board") == 4
    assert "an example game, dqn-0 as X against random as O: " in printed
    rows = [row for row in rows_of(printed) if len(row) == 5]
    assert [row[0] for row in rows] == ["dqn-0", "best.json", "minimax-slip=0.5", "random"]
    assert rows[1][4] == "99.5/0.5/0.0"
    assert (rows[3][2], rows[3][4]) == ("0.0/8.4/91.6", "58.5/12.7/28.8")


def test_a_run_its_certificate_and_the_name_of_its_agent_are_the_same_agent(
    capsys, run, monkeypatch
):
    monkeypatch.chdir(run.parent.parent)
    shutil.copytree(run, "runs/dqn-0")
    by_folder, by_file, by_name = (
        rows_of(shown(capsys, spec)) for spec in (run, run / "certificate.json", "dqn")
    )
    assert by_folder == by_file == by_name
    assert len(by_folder) == 6


def test_the_example_game_follows_from_its_seed_and_the_player_is_no_name(capsys, tmp_path):
    games = [game_of(shown(capsys, "random --game-seed", seed)) for seed in (1, 1, 2, 3, 4)]
    assert games[0] == games[1]
    assert len(set(games)) > 1
    certified(tmp_path / "random", CellPlayer(0))
    assert not game_of(shown(capsys, tmp_path / "random")).endswith(": a1 a1")


@pytest.mark.parametrize("rules", [Rules(2, 3, 3), Rules(3, 4, 3)], ids=str)
def test_boards_of_other_sizes_are_evaluated_too(capsys, rules):
    size = f"--rows {rules.rows} --cols {rules.cols} --k {rules.k}"
    printed = shown(capsys, size, "minimax random")
    assert f"minimax on {rules}\n" in printed
    exact = match.exact_result(MinimaxPolicy(rules), RandomPolicy(), rules)
    rates = "/".join(f"{100 * rate:.1f}" for rate in (exact.win, exact.draw, exact.loss))
    assert next(row for row in rows_of(printed) if len(row) == 3)[2] == rates
    assert ("(no O can avoid it on this board)" in printed) == (rules.rows == 3), "X wins on 3x4"


def test_the_board_is_that_of_the_run_unless_it_is_asked_for(capsys, tmp_path):
    path = certified(tmp_path / "player.json", fixed_table(RECTANGLE), RECTANGLE)
    assert "random on 2x4, 3 in a row" in shown(capsys, "random", path)
    error = error_of(capsys, path, "--rows 3 --cols 3")
    assert "plays on 2x4, 3 in a row, not on 3x3, 3 in a row" in error


def test_the_same_agent_twice_is_evaluated_against_itself(capsys):
    rows = [row for row in rows_of(shown(capsys, "random random")) if len(row) == 3]
    assert rows == [[name, *["58.5/12.7/28.8"] * 2] for name in ("random", "random (2)")]


# --- sampled ----------------------------------------------------------------------------------


def test_games_that_are_counted_stand_beside_the_exact_rates(capsys, tmp_path):
    path = tmp_path / "figures.json"
    printed = shown(capsys, "random --games 1000 --game-seed 4 --json", path)
    rows = rows_of(printed)
    assert rows[0][:3] == ["X", "random", "58.4921"]
    assert rows[1][:2] == ["X", "random, 1,000 games, sampled"]
    assert "sampled: the 95 % Wilson interval in brackets; the other results are exact\n" in printed
    counted = json.loads(path.read_text())["sampled_against_random"]["random"]
    for side, name in ((side, name) for side in "XO" for name in ("win", "draw", "loss")):
        low, high = counted[side]["intervals"][name]
        assert low < counted[side][name] < high
        exact = getattr(match.result_vs_random(side, RandomPolicy()), name)
        assert low < exact < high, "holds for this seed; an interval misses one time in twenty"
    assert "sampled" not in shown(capsys, "random")


def test_a_board_too_large_to_be_proven_gets_a_sampled_table(capsys, tmp_path):
    path, size = tmp_path / "figures.json", "--rows 5 --cols 5 --k 4 --game-seed 3"
    printed = shown(capsys, "random random", size, "--json", path)
    assert "5x5, 4 in a row: more than 12 cells, so nothing is proven; games are play" in printed
    assert "sampled, 1,000 games, 95 % interval" in printed
    assert "exact" not in printed.replace("exact ones", "")
    results = json.loads(path.read_text())["sampled"]
    found = match.sampled_result(RandomPolicy(), RandomPolicy(), Rules(5, 5, 4), 1000, 3)
    assert list(results) == list(results["random"]) == ["random", "random (2)"]
    assert results["random"]["random (2)"]["win"] == found.result.win
    assert results["random"]["random (2)"]["intervals"]["draw"] == list(found.intervals["draw"])
    printed = shown(capsys, "minimax random --rows 2 --cols 7 --k 7 --games 20")
    assert "sampled, 20 games, 95 % interval" in printed
    assert [row[:2] for row in rows_of(printed)] == [
        [x, o] for x in ("minimax", "random") for o in ("minimax", "random")
    ]


# --- as data ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE], ids=str)
def test_the_data_hold_all_results_and_agree_with_the_exact_ones(capsys, rules, tmp_path):
    names, path = ["a.json", "minimax", "random"], tmp_path / "figures.json"
    stochastic = TabularPolicy(rules, random_probs(rules, np.random.default_rng(0)))
    known = {"seed": 7, "config": {"steps": 3}}
    specs = [certified(tmp_path / "a.json", stochastic, rules, **known), *names[1:]]
    assert f"results: {path}\n" in shown(capsys, *specs, "--json", path)
    data = json.loads(path.read_text())
    assert data.keys() == {"agents", "cross_table"}
    assert list(data["agents"]) == list(data["cross_table"]) == names
    players = [tabulate(make_opponent(spec, rules), rules) for spec in specs]
    for player, content in zip(players, data["agents"].values(), strict=True):
        expected = json.loads(json.dumps(certify(player, content["agent"], rules)))
        stated = {"seed", "config", "versions"}
        assert {key: content[key] for key in expected if key not in stated} == {
            key: value for key, value in expected.items() if key not in stated
        }
    content = data["agents"]["a.json"]
    assert {key: content[key] for key in ("agent", *known)} == {"agent": "somebody", **known}
    assert data["agents"]["minimax"]["agent"] == "minimax"
    for x, row in zip(players, data["cross_table"].values(), strict=True):
        assert list(row) == names
        for o, cell in zip(players, row.values(), strict=True):
            assert cell == {rate: getattr(match.exact_result(x, o), rate) for rate in cell}


def test_results_are_computed_from_the_moves_and_not_believed(capsys, tmp_path):
    content = certify(RandomPolicy(), "boaster")
    for part in (content, content["as_x"], content["as_o"]):
        part.update(optimal=True, unbeatable=True)
    write(content, tmp_path / "boaster.json")
    assert "can be beaten as X and as O\n" in shown(capsys, tmp_path / "boaster.json")


# --- verification -----------------------------------------------------------------------------


def test_a_good_certificate_is_verified_without_torch_and_without_rich(run):
    program = (
        "import sys\n"
        "for name in ('torch', 'rich', 'stable_baselines3', 'safetensors', 'matplotlib'):\n"
        "    sys.modules[name] = None  # as if it were not installed\n"
        "import evaluate\n"
        "sys.exit(evaluate.main(sys.argv[1:]))\n"
    )
    for path in (run / "certificate.json", run):
        done = python("-c", program, "--verify", path)
        assert (done.returncode, done.stderr) == (0, "")
        said, verdict = done.stdout.splitlines()
        assert said == (
            f"verified: {path} (dqn), 4,520 positions; every result follows from the moves, but "
            "name, seed, configuration and times are statements of whoever wrote the file"
        )
        assert verdict.startswith("can be beaten as ")


def test_several_certificates_are_verified_at_once_and_each_wrong_one_is_named(capsys, tmp_path):
    good = certified(tmp_path / "good.json", RandomPolicy())
    best = certified(tmp_path / "best.json", best_player(Rules()))
    lines = shown(capsys, "--verify", good, best).splitlines()
    assert [line[:10] for line in lines] == ["verified: ", "can be bea", "verified: ", "PROVEN: un"]
    bad = tmp_path / "bad.json"
    write({**certify(RandomPolicy(), "boaster"), "optimal": True}, bad)
    assert evaluate.main(["--verify", good, str(bad), str(tmp_path / "none.json"), best]) == 1
    out, err = capsys.readouterr()
    verified = [line.split(" ")[1] for line in out.splitlines() if line.startswith("verified: ")]
    assert verified == [good, best]
    refused = [line.split(" ")[1] for line in err.splitlines()]
    assert refused == [f"{bad}:", f"{tmp_path / 'none.json'}:"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content["as_x"].update(unbeatable=True), "as_x.unbeatable is False"),
        (lambda content: content["moves"].update({".../.../...": "a1"}), "the moves were changed"),
        (lambda content: content["moves"].popitem(), "this one has 4519"),
        (lambda content: content.update(format=2), "format 1"),
    ],
)
def test_tampering_is_found_and_named(change, said, tmp_path, capsys):
    content = certify(CellPlayer(4), "centre", seed=1)
    change(content)
    write(content, tmp_path / "certificate.json")
    assert said in error_of(capsys, "--verify", tmp_path / "certificate.json")


def test_a_file_that_is_damaged_or_missing_is_named(tmp_path, capsys, run):
    assert "no certificate at" in error_of(capsys, "--verify", tmp_path / "none.json")
    assert "no saved run or certificate at" in error_of(capsys, tmp_path / "none.json")
    text = (run / "certificate.json").read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    (tmp_path / "other.json").write_text('{"format": 1}')
    for option in ("", "--verify"):
        said = error_of(capsys, option, tmp_path / "cut.json")
        assert "cut.json is damaged, it is not JSON" in said
        assert "this is not a certificate" in error_of(capsys, option, tmp_path / "other.json")


# --- with the model ---------------------------------------------------------------------------


def test_a_model_makes_the_certified_moves_or_is_found_out(capsys, run, tmp_path):
    printed = shown(capsys, run, "minimax --from-model")
    assert f"{run}: the model makes the certified move in all 4,520 positions\n" in printed
    folder = shutil.copytree(run, tmp_path / "run")
    path = folder / "model.safetensors"
    tensors, about = read_tensors(path)
    write_tensors(path, {name: -tensor for name, tensor in tensors.items()}, about)
    said = error_of(capsys, folder, "--from-model")
    assert f"the model of {folder} moves otherwise than its certificate in " in said
    assert said.endswith(" of 4,520 positions\n")
    path.write_bytes(b"")
    assert "model.safetensors is damaged" in error_of(capsys, folder, "--from-model")


def test_only_the_folder_of_a_trained_agent_has_a_model(capsys, run, tmp_path):
    alone, path = shutil.copy(run / "certificate.json", tmp_path / "alone.json"), tmp_path / "run"
    assert "--from-model needs the folder of a run" in error_of(capsys, alone, "--from-model")
    path.mkdir()
    for agent in ("somebody", ["dqn"], 5, None):
        write({**certify(RandomPolicy(), "somebody"), "agent": agent}, path / "certificate.json")
        assert f"unknown agent {agent!r}" in error_of(capsys, path, "--from-model")


# --- arguments --------------------------------------------------------------------------------


SHOWN = "--json --verify --from-model --rows --game-seed minimax-slip=0.1"


def test_help_and_results_need_no_torch(capsys):
    program = (
        "import sys, evaluate\n"
        "try:\n    code = evaluate.main(sys.argv[1:])\n"
        "except SystemExit as end:\n    code = end.code\n"
        "assert 'torch' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    help_shown = python("-c", program, "--help")
    assert (help_shown.returncode, help_shown.stderr) == (0, "")
    for option in SHOWN.split():
        assert option in help_shown.stdout
    assert python("-c", program, "minimax", "random", "--rows", 2).returncode == 0
    assert evaluate.main([]) == 2
    assert "Usage: evaluate.py" in capsys.readouterr().out


ALONE = "--verify checks files and does nothing else: leave"
BATTLE = "--battle plays two agents and does nothing else"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("minmax", "unknown agent 'minmax'; did you mean 'minimax'?"),
        ("random minimax-frist", "did you mean 'minimax-first'?"),
        ("minimax-slip=2", "slip must be a probability from 0 to 1, got 2.0"),
        ("runs/none", "no saved run or certificate at 'runs/none'"),
        ("trie", "no run of trie in models/ or runs/: train one with `python train.py trie`"),
        ("random minimax --rows 5 --cols 5 --k 4", "too many to enumerate: at most 16 cells can"),
        ("minimax --rows 9 --cols 9", "use a smaller one"),
        ("random --k 4", "k must be at most max(rows, cols) = 3, got 4"),
        ("random --rows 0", "rows must be a whole number of at least 1, got 0"),
        ("random --verify f.json", f"{ALONE} agents out"),
        ("--verify f.json --json g.json --games 5", f"{ALONE} json, games out"),
        ("--verify f.json --from-model", f"{ALONE} from-model out"),
        ("random --battle 2", BATTLE),
        ("random minimax search --battle 2", BATTLE),
        ("random minimax --battle 2 --games 5", BATTLE),
        (
            "random --json none/figures.json",
            "--json must be a file in a folder that exists, got no",
        ),
        ("random --json .", "--json must be a file in a folder that exists, got ."),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    certified(tmp_path / "odd.json", RandomPolicy(), training={"steps": 1})
    assert said in error_of(capsys, arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--jsn f.json", "unknown option '--jsn'; did you mean '--json'? (known: --battle, --co"),
        ("--row 3", "unknown option '--row'; did you mean '--rows'?"),
        ("--rows three", "--rows: expected a whole number, got 'three'"),
        ("--game-seed -1", "--game-seed: expected a whole number of at least 0"),
        ("--games 0", "--games: expected a whole number of at least 1, got '0'"),
    ],
)
def test_a_misspelt_option_gets_a_guess_and_exit_code_2(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["random", *arguments.split()])
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err.count("\n")) == (2, 1)
    assert printed.err.startswith(f"evaluate.py: {said}")


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
