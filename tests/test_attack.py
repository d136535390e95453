"""The campaigns of `python -m attack`: each finds a planted fault, and repeats its cases."""

import errno
import json
import os
import pickle
import random
import signal
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import attack.__main__ as command
from agents import TRAINABLE
from attack import disk, files, kills, law, rewriting, rules, stores, trainings
from attack.campaign import CAMPAIGNS, Case, Report, found_in, repeat
from attack.children import child
from attack.operations import Operations, fail, kill_at, nothing
from attack.rewriting import Planted
from tictactoe_env import TicTacToeEnv, TicTacToeVectorEnv
from tictactoe_env.certificate import certify
from tictactoe_env.files import write_file
from tictactoe_env.policy import RandomPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.store import GameStore
from training import checkpoint, run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and signals")


@pytest.fixture
def case(tmp_path):
    """A function that makes the cases of a seed."""

    def made(number=0):
        own, shared = tmp_path / f"case-{number}", tmp_path / "shared"
        own.mkdir()
        shared.mkdir(exist_ok=True)
        return Case(number, random.Random(number), own, shared, Counter())

    return made


def findings(campaign, tmp_path, most, seed=0):
    """The first findings of a campaign, in at most so many cases."""
    for number in range(most):
        found = found_in("name", campaign.attack, seed, number, tmp_path / "own", Counter())
        if found:
            return "\n".join(found)
    return ""


# --- the command line -----------------------------------------------------------------------------


def drawing(case):
    case.counts["numbers"] += 1
    if case.draw.random() < 0.3:
        yield f"{case.draw.random()}"


def test_a_case_is_repeated_alone_and_a_finding_says_how(tmp_path):
    counts = Counter()
    report = repeat("name", drawing, 0.2, 5, tmp_path / "a" / "name")
    assert report.cases == int(report.notes["numbers"].replace(",", "")) > 20
    assert 0 < len(report.findings) < report.cases
    for finding in report.findings[:5]:
        told, way = finding.split("\n    repeat it with: ")
        number = int(way.removeprefix("python -m attack name --seed 5 --case "))
        again = found_in("name", drawing, 5, number, tmp_path / "b" / "name", counts)
        assert again == [finding]
        assert told.startswith(f"name, case {number}: 0.")


def test_an_error_of_an_attack_is_a_finding_and_many_findings_end_a_campaign(tmp_path):
    def broken(case):
        yield 1 / 0

    report = repeat("name", broken, 60, 0, tmp_path / "name")
    assert "ZeroDivisionError" in report.findings[0]
    assert report.cases == len(report.findings) == 50
    assert list((tmp_path / "name").iterdir()) == []


class Planned:
    """A campaign that reports what it is told to."""

    def __init__(self, *found):
        self.found, self.asked = list(found), []

    def run(self, seconds, seed, folder):
        assert folder.is_dir()
        self.asked.append((seconds, seed))
        return Report(1_234, self.found, {"kills": "5"})


def test_the_exit_code_says_if_anything_was_found(monkeypatch, capsys):
    campaigns = {name: Planned() for name in CAMPAIGNS}
    monkeypatch.setattr(command, "campaign", campaigns.get)
    assert command.main(["--seconds", "18", "--seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert "kills: 5" in printed
    assert printed.count("1,234") == len(CAMPAIGNS)
    asked = [campaigns[name].asked for name in CAMPAIGNS]
    assert sum(seconds for ((seconds, _),) in asked) == pytest.approx(18)
    assert {seed for ((_, seed),) in asked} == {7}
    campaigns["disk"].found.append("something broke")
    assert command.main(["rules", "disk"]) == 1
    assert "something broke" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kill"], "unknown campaign 'kill': choose from kills, disk, files"),
        (["--case", "3"], "--case N needs the name of one campaign"),
        (["--seconds", "0"], "--seconds must be above 0"),
        (["--seconds", "inf"], "--seconds must be above 0"),
    ],
)
def test_wrong_options_are_refused(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_each_campaign_is_listed_and_described(monkeypatch, capsys):
    doc = "What it does.\n\nMore of it."
    monkeypatch.setattr(command, "campaign", lambda name: SimpleNamespace(__doc__=doc))
    assert command.main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in listed] == [
        [name, "What it does."] for name in CAMPAIGNS
    ]
    page = (Path(__file__).parent.parent / "docs" / "RELIABILITY.md").read_text("utf-8")
    assert all(f"\n**{name}** " in page for name in CAMPAIGNS)


def test_a_short_attack_takes_few_trainings_and_a_long_one_takes_all(case):
    one = case()
    found = [trainings.drawn_training(replace(one, number=number)) for number in range(200)]
    assert found[0] == found[2] == trainings.TRAININGS[0]
    assert set(found) == set(trainings.TRAININGS)
    assert {one.agent for one in trainings.LEARNERS} == set(TRAINABLE)


def test_one_case_runs_alone(capsys):
    assert command.main(["rules", "--seed", "3", "--case", "11"]) == 0
    assert " 1 " in capsys.readouterr().out


# --- kills and disks ------------------------------------------------------------------------------


def writing(folder):
    for name in ("one", "two"):
        write_file(folder / name, lambda file: file.write(b"0123456789" * 10))
    return 0


@pytest.mark.slow
def test_changes_are_counted_killed_and_failed_at_each_number(tmp_path):
    def acting(fault, folder):
        def action():
            operations = Operations(folder, fault)
            operations.watch()
            writing(folder)
            return operations.count

        folder.mkdir()
        return child(action, tmp_path / "printed")

    whole = acting(nothing, tmp_path / "whole").code
    changes = ("mkdir", "open", "write", "flush", "rename", "flush of the folder")
    assert whole == 2 * len(changes)
    lengths = set()
    for number in range(1, whole + 1):
        folder = tmp_path / str(number)
        assert acting(kill_at(number), folder).code == -signal.SIGKILL
        lengths |= {path.stat().st_size for path in folder.iterdir()}
        for code in (errno.ENOSPC, errno.EIO):
            ended = acting(fail(code, number, True), tmp_path / f"{number}-{code}")
            assert ended.crashed, number
            assert os.strerror(code) in ended.text
    assert lengths == {50, 100}  # half and all of the bytes


SMALL = trainings.Training(
    "small", "tabular_q", ("--games", "32", "--judge-every", "300", "--steps", "600")
)


def small_only(monkeypatch, module):
    monkeypatch.setattr(module, "TRAININGS", (SMALL,))


@pytest.mark.slow
def test_the_last_change_of_a_training_can_be_killed_and_there_is_no_further_one(case):
    one, place = case(), case(1).folder / "place"
    place.mkdir()
    changes = trainings.whole(one, SMALL).changes
    for number, code in ((changes, -signal.SIGKILL), (changes + 1, 0)):
        folder = place / str(number)
        assert trainings.train(SMALL.begin(folder), place, kill_at(number)).code == code


@pytest.mark.slow
def test_kills_find_nothing_unless_a_fault_is_planted(tmp_path, monkeypatch):
    small_only(monkeypatch, kills)
    assert findings(kills, tmp_path, 4) == ""
    monkeypatch.setattr(run, "remove_leftovers", lambda folder: None)
    assert ".tmp was left behind" in findings(kills, tmp_path, 20)


@pytest.mark.slow
def test_kills_find_a_generator_that_is_not_restored(tmp_path, monkeypatch):
    small_only(monkeypatch, kills)
    assert findings(kills, tmp_path, 1) == ""
    monkeypatch.setattr(checkpoint, "generator_of", lambda state: np.random.default_rng(0))
    assert "model.safetensors has other bytes" in findings(kills, tmp_path, 20)


@pytest.mark.slow
def test_full_disks_find_nothing_unless_a_fault_is_planted(tmp_path, monkeypatch):
    from contextlib import nullcontext

    from terminal import trainer

    small_only(monkeypatch, disk)
    assert findings(disk, tmp_path, 4) == ""
    monkeypatch.setattr(trainer, "way_to_go_on", lambda run: nullcontext())
    assert "it does not say how to go on" in findings(disk, tmp_path, 20)


# --- files ----------------------------------------------------------------------------------------


def forever(path):
    while True:
        time.sleep(0.01)


PLANTED = {
    "FORBIDDEN: os.system": lambda path: os.system("true"),
    "FORBIDDEN: opens": lambda path: (path.parent.parent.parent / "elsewhere").write_text("x"),
    "FORBIDDEN: os.remove": lambda path: os.remove(path.parent.parent.parent / "nothing"),
    "FORBIDDEN: pickle.find_class": lambda path: pickle.loads(pickle.dumps(Planted())),
    "FORBIDDEN: compile of a planted text": lambda path: pickle.loads(pickle.dumps(Planted())),
    "KeyError": lambda path: {}["seats"],
    "MemoryError": lambda path: bytes(1 << 60),
    "THE REFUSAL SAYS NOTHING": lambda path: int("") if path is None else _raise(ValueError()),
    "it has printed": lambda path: print("\x1b[8m"),
    "it took": forever,
    "it needed": lambda path: bytearray(b"x") * (700 << 20),
}
"""What is found, and a loader that does it."""


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "said",
    [pytest.param(said, marks=pytest.mark.slow if said == "it needed" else ()) for said in PLANTED],
)
def test_a_loader_that_does_what_it_must_not_is_found(said, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SECONDS", 1 if said == "it took" else 60)
    folder = tmp_path / "case"
    (folder / "run").mkdir(parents=True)
    ended = files.read_in_child(PLANTED[said], folder / "run" / "file", folder)
    assert any(said in text for text in files.wrong_with(ended)), ended


def test_a_loader_that_reads_or_refuses_is_no_finding(tmp_path):
    path = tmp_path / "run" / "file"
    path.parent.mkdir()
    path.write_text("content")
    for call, said in (
        (lambda path: path.read_text(), "\naccepted "),
        (lambda path: (path.parent / "new").write_text("in its own folder"), "\naccepted "),
        (lambda path: int(path.read_text()), "\nrefused ValueError"),
        (lambda path: (path / "none").read_text(), "\nrefused NotADirectoryError"),
    ):
        ended = files.read_in_child(call, path, tmp_path)
        assert list(files.wrong_with(ended)) == []
        assert said in ended.text


def test_a_certificate_that_says_too_much_is_refused_by_the_independent_verifier(tmp_path):
    content, path = certify(RandomPolicy(), "random", Rules(2, 3, 3)), tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    assert list(files.judged(path, tmp_path)) == []
    path.write_text(json.dumps({**content, "unbeatable": True, "optimal": not content["optimal"]}))
    assert any("refuses what is accepted" in text for text in files.judged(path, tmp_path))


SIDES = {"as_x": {"win": 1.0}, "as_o": {"win": 0.0}}


@pytest.mark.parametrize(
    "content", [[{"moves": []}], "text", {"moves": {"../..": "a1"}, **SIDES}, {"steps": 3}]
)
def test_json_of_any_form_is_rewritten(content, tmp_path):
    path = tmp_path / "checkpoint" / "progress.json"
    path.parent.mkdir()
    found = set()
    for seed in range(30):
        path.write_text(json.dumps(content))
        rewriting.rewrite(random.Random(seed), path)
        rewriting.make_manifests(tmp_path)
        found.add(path.read_bytes())
    assert len(found) > 3


@pytest.mark.slow
def test_files_find_nothing_unless_a_loader_is_planted(tmp_path, monkeypatch):
    from attack import loaders

    monkeypatch.setattr(files, "LEARNERS", (SMALL,))
    assert findings(files, tmp_path, 40) == ""
    monkeypatch.setattr(files, "CERTIFICATES", ())
    planted = {"planted": ("model.safetensors", lambda path: None)}
    monkeypatch.setattr(loaders, "READERS", planted)
    assert findings(files, tmp_path, 5) == ""
    monkeypatch.setattr(loaders, "EXACT", ("planted",))
    reads = {"planted": ("model.safetensors", lambda path: path.read_bytes())}
    monkeypatch.setattr(loaders, "READERS", reads)
    assert "accepted with another meaning" in findings(files, tmp_path, 40, seed=1)


# --- stores ---------------------------------------------------------------------------------------


def one_by_one(self, games):
    return [add_many(self, (game,)) for game in games]


def twice(self):
    for game in iterate(self):
        yield game
        yield game


add_many, iterate, get = GameStore.add_many, GameStore.__iter__, GameStore.get


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fault", "said"),
    [
        ("add_many", one_by_one, "is partly there"),
        ("add_many", lambda self, games: None, "acknowledged games are lost"),
        ("__iter__", twice, "iteration shows other games"),
        ("get", lambda self, id: get(self, 1), "get shows other games"),
        ("list", lambda self, *some, **more: [], "list shows other games"),
    ],
)
def test_stores_find_a_planted_fault(tmp_path, monkeypatch, case, name, fault, said):
    way = stores.kills if name == "add_many" else stores.damage
    found = []
    if name == "add_many":
        monkeypatch.setattr(GameStore, name, fault)
    else:
        look = stores._look

        def spoiled(*arguments):
            setattr(GameStore, name, fault)  # in the child, after its games were written
            return look(*arguments)

        monkeypatch.setattr(stores, "_look", spoiled)
    for number in range(12):
        found += way(case(number))
        if any(said in text for text in found):
            break
    assert any(said in text for text in found), found


def test_a_lost_game_and_a_batch_in_parts_are_found(tmp_path):
    path, told = tmp_path / "games.db", tmp_path / "told"
    with GameStore(path) as store:
        store.add_many([stores.game(number) for number in (1, 2, 3)])
    for text, said in (
        ("begin 1 3\nadded 1 3\n", ""),
        ("begin 1 3\n", ""),
        ("begin 1 4\nadded 1 4\n", "1 of 4 acknowledged games are lost"),
        ("begin 1 4\n", "a batch of 4 games is partly there"),
        ("begin 1 2\n", "there is a game that nobody has added"),
    ):
        told.write_text(text)
        assert said in " ".join(stores.lost(path, [told]))
        assert bool(said) == bool(list(stores.lost(path, [told])))


@pytest.mark.slow
def test_stores_find_nothing_unless_a_fault_is_planted(tmp_path):
    assert findings(stores, tmp_path, 6) == ""


# --- rules and law --------------------------------------------------------------------------------


class Faulty:
    """Changes what a step or a reset of an environment returns."""

    def step(self, action):
        result = super().step(action)
        return self.spoiled(result) if np_any(result[2]) or self.always else result

    always = False


def np_any(value):
    return bool(value.any()) if hasattr(value, "any") else value


def spoil(name, kind):
    """A class of environments with a fault of this name."""

    def reward(result):
        return (result[0], result[1] + 1e-9, *result[2:])

    def outcome(result):
        info = result[4].get("final_info", result[4])
        info["outcome"] = info["outcome"] * 0
        return result

    def mask(result):
        result[4]["action_mask"][..., 0] ^= 1
        return result

    def observation(result):
        return (-result[0], *result[1:])

    def illegal(result):
        info = result[4].get("final_info", result[4])
        info["illegal_move"] = info["illegal_move"] * 0
        return result

    spoiled = {f.__name__: f for f in (reward, outcome, mask, observation, illegal)}[name]
    about = {"spoiled": staticmethod(spoiled), "always": name in ("mask", "observation")}
    return type("Spoiled", (Faulty, kind), about)


@pytest.mark.parametrize("kind", [TicTacToeEnv, TicTacToeVectorEnv])
@pytest.mark.parametrize("fault", ["reward", "outcome", "mask", "observation", "illegal"])
def test_environments_with_a_fault_are_found(fault, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(rules, kind.__name__, spoil(fault, kind))
    assert findings(rules, tmp_path, 40) != ""


def test_environments_keep_the_plain_rules(tmp_path):
    assert findings(rules, tmp_path, 30) == ""


@pytest.mark.parametrize(
    ("square", "freedom", "chance"),
    [  # of printed tables of the chi-square distribution
        (3.841, 1, 0.05),
        (5.991, 2, 0.05),
        (11.345, 3, 0.01),
        (16.919, 9, 0.05),
        (29.588, 10, 0.001),
        (124.342, 100, 0.05),
    ],
)
def test_the_chance_of_a_chi_square_is_that_of_the_tables(square, freedom, chance):
    assert law.chance_above(square, freedom) == pytest.approx(chance, rel=2e-3)


def test_a_law_that_is_off_by_one_percent_is_found():
    right = {"X": Fraction(737, 1260), "draw": Fraction(8, 63), "O": Fraction(121, 420)}
    for wrong, is_found in ((0.0, False), (0.01, True), (-0.01, True)):
        shares = [float(share) for share in right.values()]
        shares[0], shares[1] = shares[0] + wrong, shares[1] - wrong
        drawn = random.Random(1).choices(list(right), shares, k=law.DRAWS)
        assert bool(law.deviation(right, Counter(drawn))) == is_found
    assert law.deviation(right, {"X": 1, "nobody": 1}) == "nobody came up, which cannot be"


@pytest.mark.slow
def test_laws_are_kept_and_an_opponent_that_slips_more_often_is_found(tmp_path, monkeypatch):
    assert findings(law, tmp_path, 4) == ""

    def promised(draw):
        share = Fraction(1, 2)
        return "minimax-slip=0.54", lambda game, board: {
            cell: share * game.perfect(board).get(cell, 0) + share * any_cell
            for cell, any_cell in game.uniform(board).items()
        }

    monkeypatch.setattr(law, "opponents", promised)
    assert "has a probability of" in findings(law, tmp_path, 8)
