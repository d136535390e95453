import copy
import hashlib
import json
import shutil

import numpy as np
import pytest
from sample_players import CellPlayer, fixed_table, random_probs
from small_runs import best_player, python, trained

import evaluate
from tictactoe_env import match
from tictactoe_env.certificate import certify, write
from tictactoe_env.opponents import MinimaxPolicy, make_opponent
from tictactoe_env.policy import RandomPolicy, TabularPolicy, tabulate
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
    """What a successful call prints."""
    assert evaluate.main([str(argument) for argument in arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def error_of(capsys, *arguments):
    """The one line with which a call ends, and exit code 1."""
    assert evaluate.main([str(argument) for argument in arguments]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("evaluate.py: ")
    assert printed.err.count("\n") == 1
    return printed.err


def rows_of(text):
    return [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in text.splitlines()
        if line.startswith("│")
    ]


# --- what is shown -----------------------------------------------------------------------------------------------


def test_one_agent_gets_its_figures_its_first_moves_and_a_game_against_random(capsys):
    printed = shown(capsys, "minimax")
    assert "minimax on 3x3, 3 in a row\n" in printed
    assert ["O", "random", "77.7484", "22.2516", "0.0000", "0.0000"] in rows_of(printed)
    assert (
        "PROVEN: unbeatable as X and as O; a player that never loses could win more often against random\n"
        in printed
    )
    assert "Q of the empty board" in printed
    assert "an example game, minimax as X against random as O: " in printed
    assert "everyone" not in printed
    assert "\x1b" not in printed


def test_several_agents_get_a_cross_table_and_a_game_of_the_first_against_the_last(
    capsys, run, tmp_path
):
    best = certified(tmp_path / "best.json", best_player(Rules()))
    printed = shown(capsys, run, best, "minimax-slip=0.5", "random")
    assert printed.count("Q of the empty board") == 4
    assert "an example game, dqn-0 as X against random as O: " in printed
    rows = [row for row in rows_of(printed) if len(row) == 5]
    assert [row[0] for row in rows] == ["dqn-0", "best.json", "minimax-slip=0.5", "random"]
    assert rows[1][4] == "99.5/0.5/0.0"
    assert rows[3][2] == "0.0/8.4/91.6"
    assert rows[3][4] == "58.5/12.7/28.8"


def test_a_run_and_its_certificate_are_the_same_agent(capsys, run):
    by_folder, by_file = (rows_of(shown(capsys, path)) for path in (run, run / "certificate.json"))
    assert by_folder == by_file
    assert len(by_folder) == 6


def test_the_example_game_follows_from_its_seed(capsys):
    def game(seed):
        printed = shown(capsys, "random", "--game-seed", seed)
        return next(line for line in printed.splitlines() if line.startswith("an example game"))

    assert game(1) == game(1)
    assert len({game(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize(
    ("size", "text", "positions"),
    [((2, 3, 3), "2x3, 3 in a row", 400), ((3, 4, 3), "3x4, 3 in a row", 0)],
)
def test_boards_of_other_sizes_are_judged_too(capsys, size, text, positions):
    rows, cols, k = size
    printed = shown(capsys, "--rows", rows, "--cols", cols, "--k", k, "minimax", "random")
    assert f"minimax on {text}\n" in printed
    assert f"random on {text}\n" in printed
    cross = [row for row in rows_of(printed) if len(row) == 3]
    exact = match.exact_result(MinimaxPolicy(Rules(*size)), RandomPolicy(), Rules(*size))
    assert cross[0][2] == "/".join(
        f"{100 * rate:.1f}" for rate in (exact.win, exact.draw, exact.loss)
    )
    if size == (3, 4, 3):
        assert "can be beaten as O (no O can avoid it on this board)\n" in printed, (
            "X wins on this board"
        )


def test_the_board_is_that_of_the_run_unless_it_is_asked_for(capsys, tmp_path):
    path = certified(tmp_path / "player.json", fixed_table(RECTANGLE), RECTANGLE)
    assert "random on 2x4, 3 in a row" in shown(capsys, "random", path)
    assert "plays on 2x4, 3 in a row, not on 3x3, 3 in a row" in error_of(
        capsys, path, "--rows", 3, "--cols", 3
    )


def test_the_same_agent_twice_is_judged_against_itself(capsys):
    rows = [row for row in rows_of(shown(capsys, "random", "random")) if len(row) == 3]
    assert rows == [
        ["random", "58.5/12.7/28.8", "58.5/12.7/28.8"],
        ["random (2)", "58.5/12.7/28.8", "58.5/12.7/28.8"],
    ]


def test_a_run_named_random_is_not_the_random_opponent_of_the_example_game(capsys, tmp_path):
    certified(tmp_path / "random", CellPlayer(0))
    printed = shown(capsys, tmp_path / "random")
    game = next(line for line in printed.splitlines() if line.startswith("an example game"))
    assert not game.endswith(": a1 a1")


# --- sampled -----------------------------------------------------------------------------------------------------


def test_games_that_are_counted_stand_beside_the_exact_rates(capsys, tmp_path):
    printed = shown(
        capsys, "random", "--games", 1000, "--game-seed", 4, "--json", tmp_path / "figures.json"
    )
    rows = rows_of(printed)
    assert rows[0][:3] == ["X", "random", "58.4921"]
    assert rows[1][:2] == ["X", "random, 1,000 games, sampled"]
    assert "sampled: the 95 % Wilson interval in brackets; the other results are exact\n" in printed
    counted = json.loads((tmp_path / "figures.json").read_text())["sampled_against_random"][
        "random"
    ]
    for side in ("X", "O"):
        exact = match.result_vs_random(side, RandomPolicy())
        for name in ("win", "draw", "loss"):
            low, high = counted[side]["intervals"][name]
            assert low < counted[side][name] < high
            assert low < getattr(exact, name) < high, (
                "holds for this seed; an interval misses one time in twenty"
            )
    assert "sampled" not in shown(capsys, "random")


def test_a_board_too_large_to_be_proven_gets_a_sampled_table(capsys, tmp_path):
    printed = shown(
        capsys,
        "random",
        "random",
        "--rows",
        5,
        "--cols",
        5,
        "--k",
        4,
        "--json",
        tmp_path / "figures.json",
        "--game-seed",
        3,
    )
    assert (
        "5x5, 4 in a row: more than 12 cells, so nothing is proven; games are played and counted instead\n"
        in printed
    )
    assert "sampled, 1,000 games, 95 % interval" in printed
    assert "exact" not in printed.replace("exact ones", "")
    results = json.loads((tmp_path / "figures.json").read_text())["sampled"]
    found = match.sampled_result(RandomPolicy(), RandomPolicy(), Rules(5, 5, 4), 1000, 3)
    names = ["random", "random (2)"]
    assert [(x, list(row)) for x, row in results.items()] == [(x, names) for x in names]
    assert results["random"]["random (2)"]["win"] == found.result.win
    assert results["random"]["random (2)"]["intervals"]["draw"] == list(found.intervals["draw"])
    assert "sampled, 20 games, 95 % interval" in shown(
        capsys, "random", "--rows", 4, "--cols", 4, "--games", 20
    )


def test_minimax_plays_on_a_board_that_can_be_enumerated_but_not_proven(capsys):
    rows = rows_of(
        shown(capsys, "minimax", "random", "--rows", 2, "--cols", 7, "--k", 7, "--games", 20)
    )
    assert [row[:2] for row in rows] == [
        ["minimax", "minimax"],
        ["minimax", "random"],
        ["random", "minimax"],
        ["random", "random"],
    ]


# --- as data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [Rules(), RECTANGLE], ids=str)
def test_the_data_hold_all_figures_and_agree_with_the_exact_ones(capsys, rules, tmp_path):
    stochastic = TabularPolicy(rules, random_probs(rules, np.random.default_rng(0)))
    specs = [
        certified(tmp_path / "a.json", stochastic, rules, seed=7, config={"steps": 3}),
        "minimax",
        "random",
    ]
    printed = shown(
        capsys,
        *specs,
        "--json",
        tmp_path / "figures.json",
        "--rows",
        rules.rows,
        "--cols",
        rules.cols,
        "--k",
        rules.k,
    )
    assert f"results: {tmp_path / 'figures.json'}\n" in printed
    data = json.loads((tmp_path / "figures.json").read_text())
    assert data.keys() == {"agents", "cross_table"}
    names = ["a.json", "minimax", "random"]
    assert list(data["agents"]) == names
    players = {
        name: tabulate(make_opponent(spec, rules), rules)
        for name, spec in zip(names, specs, strict=True)
    }
    for name, content in data["agents"].items():
        expected = json.loads(json.dumps(certify(players[name], content["agent"], rules)))
        for figure in (
            "board",
            "unbeatable",
            "optimal",
            "as_x",
            "as_o",
            "optimal_moves",
            "moves",
            "sha256_of_moves",
        ):
            assert content[figure] == expected[figure]
    assert (
        data["agents"]["a.json"]["agent"],
        data["agents"]["a.json"]["seed"],
        data["agents"]["a.json"]["config"],
    ) == ("somebody", 7, {"steps": 3})
    assert data["agents"]["minimax"]["agent"] == "minimax"
    for x, row in data["cross_table"].items():
        assert list(row) == names
        for o, cell in row.items():
            exact = match.exact_result(players[x], players[o])
            assert cell == {
                "win": exact.win,
                "draw": exact.draw,
                "loss": exact.loss,
                "illegal": exact.illegal,
            }


def test_figures_are_computed_from_the_moves_and_not_believed(capsys, tmp_path):
    content = certify(RandomPolicy(), "boaster")
    content["optimal"] = content["unbeatable"] = content["as_x"]["unbeatable"] = content["as_o"][
        "unbeatable"
    ] = True
    write(content, tmp_path / "boaster.json")
    assert "can be beaten as X and as O\n" in shown(capsys, tmp_path / "boaster.json")


# --- verification ------------------------------------------------------------------------------------------------


def test_a_good_certificate_is_verified_without_torch_and_without_rich(run):
    program = (
        "import sys\n"
        "for name in ('torch', 'rich', 'stable_baselines3', 'safetensors', 'matplotlib'):\n"
        "    sys.modules[name] = None  # as if it were not installed\n"
        "import evaluate\n"
        "sys.exit(evaluate.main(sys.argv[1:]))\n"
    )
    done = python("-c", program, "--verify", run / "certificate.json")
    assert (done.returncode, done.stderr) == (0, "")
    said, verdict = done.stdout.splitlines()
    assert said == (
        f"verified: {run / 'certificate.json'} (dqn), 4,520 positions; every result follows from the moves, "
        "but name, seed, configuration and times are statements of whoever wrote the file"
    )
    assert python("-c", program, "--verify", run).stdout.splitlines() == [
        said.replace(str(run / "certificate.json"), str(run)),
        verdict,
    ]


def test_several_certificates_are_verified_at_once_and_each_wrong_one_is_named(capsys, tmp_path):
    good, best = (
        certified(tmp_path / "good.json", RandomPolicy()),
        certified(tmp_path / "best.json", best_player(Rules())),
    )
    printed = shown(capsys, "--verify", good, best)
    assert [line for line in printed.splitlines() if not line.startswith("verified: ")] == [
        "can be beaten as X and as O",
        "PROVEN: unbeatable as X and as O, and no player that never loses wins more often against random",
    ]
    bad = tmp_path / "bad.json"
    write({**certify(RandomPolicy(), "boaster"), "optimal": True}, bad)
    assert evaluate.main(["--verify", good, str(bad), str(tmp_path / "none.json"), best]) == 1
    printed = capsys.readouterr()
    assert [
        line.split(" ")[1] for line in printed.out.splitlines() if line.startswith("verified: ")
    ] == [good, best]
    assert [line.split(" ")[1] for line in printed.err.splitlines()] == [
        f"{bad}:",
        f"{tmp_path / 'none.json'}:",
    ]


@pytest.mark.parametrize(
    ("arguments", "others"),
    [
        ("random --verify f.json", "agents"),
        ("--verify f.json --json g.json --games 5", "json, games"),
        ("--verify f.json --from-model", "from-model"),
    ],
)
def test_verification_goes_with_nothing_else(arguments, others, capsys):
    assert f"--verify checks files and does nothing else: leave {others} out" in error_of(
        capsys, *arguments.split()
    )


def test_help_and_figures_need_no_torch():
    program = (
        "import sys, evaluate\n"
        "try:\n    code = evaluate.main(sys.argv[1:])\n"
        "except SystemExit as end:\n    code = end.code\n"
        "assert 'torch' not in sys.modules\n"
        "sys.exit(code)\n"
    )
    shown = python("-c", program, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert all(
        option in shown.stdout
        for option in (
            "--json",
            "--verify",
            "--from-model",
            "--rows",
            "--game-seed",
            "minimax-slip=0.1",
        )
    )
    assert python("-c", program, "minimax", "random", "--rows", 2).returncode == 0


def changed(path, value):
    def change(content):
        *parents, last = path.split(".")
        inner = content
        for parent in parents:
            inner = inner[parent]
        assert inner[last] != value, "the change changes something"
        inner[last] = value

    return change


def sealed(content):
    moves = json.dumps(content["moves"], sort_keys=True, separators=(",", ":"))
    content["sha256_of_moves"] = hashlib.sha256(moves.encode()).hexdigest()


def another_move(content):
    content["moves"][".../.../..."] = "a1"


def another_move_sealed(content):
    another_move(content)
    sealed(content)


TAMPERINGS = {
    **{
        path: changed(path, value)
        for path, value in {
            "unbeatable": True,
            "optimal": True,
            "as_x.unbeatable": True,
            "as_o.optimal": True,
            "as_x.losing_line": None,
            "as_o.losing_line": ["a1"],
            "as_x.worst_case_value": 0.0,
            "as_o.worst_case_loss": 0.5,
            "as_x.vs_random.win": 0.9,
            "as_o.vs_random.illegal": 1e-9,
            "as_x.vs_minimax.draw": 1.5,
            "as_o.limit_vs_random": None,
            "as_o.limit_vs_random.win": 1.0,
            "optimal_moves.everywhere": 1.0,
            "optimal_moves.reachable": "1.0",
        }.items()
    },
    "the moves were changed": another_move,
    "as_x.": another_move_sealed,
    "needs the moves of 4520 positions, this one has 4519": lambda content: content[
        "moves"
    ].popitem(),
    "not a certificate": lambda content: content["moves"].update({".../.../...": "z9"}),
    "format 1": changed("format", 2),
}


@pytest.fixture(scope="module")
def honest():
    return certify(CellPlayer(4), "centre", seed=1)


@pytest.mark.parametrize("said", TAMPERINGS)
def test_each_kind_of_tampering_is_found_and_named(said, honest, tmp_path, capsys):
    path = tmp_path / "certificate.json"
    write(honest, path)
    assert shown(capsys, "--verify", path).startswith(f"verified: {path} (centre)")
    content = copy.deepcopy(honest)
    TAMPERINGS[said](content)
    write(content, path)
    assert said in error_of(capsys, "--verify", path)


def test_a_file_that_is_damaged_or_missing_is_named(tmp_path, capsys, run):
    assert "no certificate at" in error_of(capsys, "--verify", tmp_path / "none.json")
    assert "no saved run or certificate at" in error_of(capsys, tmp_path / "none.json")
    text = (run / "certificate.json").read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    for arguments in (("--verify", tmp_path / "cut.json"), (tmp_path / "cut.json",)):
        assert "cut.json is damaged, it is not JSON" in error_of(capsys, *arguments)
    (tmp_path / "other.json").write_text('{"format": 1}')
    assert "this is not a certificate" in error_of(capsys, "--verify", tmp_path / "other.json")
    assert "this is not a certificate" in error_of(capsys, tmp_path / "other.json")


# --- with the network --------------------------------------------------------------------------------------------


def test_a_network_that_makes_the_certified_moves_is_said_to(capsys, run):
    printed = shown(capsys, run, "minimax", "--from-model")
    assert f"{run}: the model makes the certified move in all 4,520 positions\n" in printed


def test_a_network_that_moves_otherwise_is_found(capsys, run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    tensors, about = read_tensors(folder / "model.safetensors")
    write_tensors(
        folder / "model.safetensors", {name: -tensor for name, tensor in tensors.items()}, about
    )
    said = error_of(capsys, folder, "--from-model")
    assert f"the model of {folder} moves otherwise than its certificate in " in said
    assert said.endswith(" of 4,520 positions\n")
    (folder / "model.safetensors").write_bytes(b"")
    assert "model.safetensors is damaged" in error_of(capsys, folder, "--from-model")


def test_only_the_folder_of_a_trained_agent_has_a_network(capsys, run, tmp_path):
    alone = shutil.copy(run / "certificate.json", tmp_path / "alone.json")
    assert "--from-model needs the folder of a run" in error_of(capsys, alone, "--from-model")
    certified(tmp_path / "certificate.json", RandomPolicy())
    assert "unknown agent 'somebody'" in error_of(capsys, tmp_path, "--from-model")
    for agent in (["dqn"], 5, None):
        write(
            {**certify(RandomPolicy(), "somebody"), "agent": agent}, tmp_path / "certificate.json"
        )
        assert f"unknown agent {agent!r}" in error_of(capsys, tmp_path, "--from-model")


# --- what is wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("minmax", "unknown agent 'minmax'; did you mean 'minimax'?"),
        ("random minimax-frist", "did you mean 'minimax-first'?"),
        ("minimax-slip=2", "slip must be a probability from 0 to 1, got 2.0"),
        ("runs/none", "no saved run or certificate at 'runs/none'"),
        (
            "random minimax --rows 5 --cols 5 --k 4",
            "too many to enumerate: at most 16 cells can be (4x4, 3x5), this one has 25",
        ),
        ("minimax --rows 9 --cols 9", "use a smaller one"),
        ("random --k 4", "k must be at most max(rows, cols) = 3, got 4"),
        ("random --rows 0", "rows must be a whole number of at least 1, got 0"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, said, capsys):
    assert said in error_of(capsys, *arguments.split())


def test_nothing_to_judge_prints_the_help(capsys):
    assert evaluate.main([]) == 2
    assert "Usage: evaluate.py" in capsys.readouterr().out


def test_a_figures_file_that_cannot_be_written_is_said_before_anything_is_computed(
    capsys, tmp_path
):
    for path in (tmp_path / "none" / "figures.json", tmp_path):
        assert evaluate.main(["random", "--json", str(path)]) == 1
        printed = capsys.readouterr()
        assert (
            printed.err
            == f"evaluate.py: --json must be a file in a folder that exists, got {path}\n"
        )
        assert printed.out == ""


def test_a_training_that_no_run_writes_is_said(capsys, tmp_path):
    for training in (5, [1], "long", {"steps": 1}):
        path = certified(tmp_path / "player.json", RandomPolicy(), training=training)
        assert "the training of a certificate must hold steps and seconds" in error_of(capsys, path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "random --jsn f.json",
            "evaluate.py: unknown option '--jsn'; did you mean '--json'? (known: --battle, --cols, ",
        ),
        ("random --row 3", "evaluate.py: unknown option '--row'; did you mean '--rows'?"),
        ("random --rows three", "evaluate.py: --rows: expected a whole number, got 'three'"),
        (
            "random --game-seed -1",
            "evaluate.py: --game-seed: expected a whole number of at least 0",
        ),
        (
            "random --games 0",
            "evaluate.py: --games: expected a whole number of at least 1, got '0'",
        ),
    ],
)
def test_a_misspelt_option_gets_a_guess(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        evaluate.main(arguments.split())
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(said)
    assert printed.err.count("\n") == 1


# --- battles -----------------------------------------------------------------------------------------------------------


def test_a_battle_of_any_two_agents_is_printed_and_written(capsys, tmp_path):
    path = tmp_path / "battle.json"
    assert evaluate.main(["minimax", "mcts-playouts=20", "--battle", "2", "--json", str(path)]) == 0
    shown = capsys.readouterr().out
    result = json.loads(path.read_text())["battle"]
    assert (
        "game 1 of 2, minimax as X against mcts-playouts=20 as O: " + result["games"][0]["moves"]
        in shown
    )
    assert sum(result["won"].values()) + result["drawn"] == len(result["games"]) == 2
    assert "win %" not in shown, "nothing else is computed"


def test_a_battle_may_be_on_a_large_board(capsys):
    assert (
        evaluate.main(
            ["search-depth=2", "random", "--battle", "1", "--rows", "5", "--cols", "5", "--k", "4"]
        )
        == 0
    )
    assert "game 1 of 1, search-depth=2 as X against random as O" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        "random --battle 2",
        "random minimax search --battle 2",
        "random minimax --battle 2 --games 5",
    ],
)
def test_a_battle_is_between_two_and_nothing_else(capsys, arguments):
    assert "--battle plays two agents and does nothing else" in error_of(capsys, *arguments.split())
