import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_runs import small_config

from agents import WITH_VALUES
from players.gallery import BUILT_IN, Gallery
from tictactoe_env.certificate import CertificateError, certify, perfect_table, write
from tictactoe_env.policy import RandomPolicy, TabularPolicy
from tictactoe_env.rules import Rules

ROOT = Path(__file__).parent.parent
SMALL = Rules(2, 3, 2)


@pytest.fixture(scope="module")
def content():
    return certify(RandomPolicy(), "dqn", SMALL, seed=7)


@pytest.fixture
def folders(tmp_path, content):
    """models/champion.json, runs/dqn-0 and runs/many/dqn-1, each the certificate of random play on 2x3."""
    for place in (
        "models/champion.json",
        "runs/dqn-0/certificate.json",
        "runs/many/dqn-1/certificate.json",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        write(content, tmp_path / place)
    return tmp_path


@pytest.fixture
def gallery(folders):
    return Gallery([folders / "models", folders / "runs"])


def ids(gallery):
    return [entry.id for entry in gallery.entries()]


def test_players_built_in_come_first_then_every_certificate_by_its_place(gallery):
    assert ids(gallery) == [*BUILT_IN, "models/champion.json", "runs/dqn-0", "runs/many/dqn-1"]


def test_an_entry_says_what_it_is(gallery):
    entry = gallery.entry("runs/many/dqn-1")
    assert (entry.kind, entry.name, entry.agent, entry.rules, entry.boards) == (
        "run",
        "dqn-1",
        "dqn",
        SMALL,
        "2x3, 2 in a row",
    )
    assert entry.about == "dqn, seed 7, can be beaten"
    assert gallery.entry("minimax").about == "perfect play, ties drawn at random"
    assert gallery.entry("minimax").boards == "boards of up to 16 cells"
    assert gallery.entry("random").boards == "any board"


def test_the_strength_of_a_run_is_in_its_sentence(folders, gallery):
    write(certify(perfect_table(Rules()), "dqn"), folders / "models" / "perfect.json")
    assert gallery.entry("models/perfect.json").about == "dqn, cannot be beaten"


def test_nobody_is_found_where_there_are_no_folders(tmp_path):
    assert ids(Gallery([tmp_path / "models", tmp_path / "runs"])) == list(BUILT_IN)


def test_a_folder_given_as_a_dot_is_named_too(folders, monkeypatch):
    monkeypatch.chdir(folders / "runs")
    assert ids(Gallery(["."]))[-2:] == ["runs/dqn-0", "runs/many/dqn-1"]


def test_folders_of_one_name_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must have different names"):
        Gallery([tmp_path / "runs", tmp_path / "old" / "runs"])


@pytest.mark.parametrize("id", BUILT_IN)
@pytest.mark.parametrize("rules", [Rules(), Rules(3, 4, 3), Rules(5, 5, 4)], ids=str)
def test_those_built_in_move_on_every_board_that_they_name(gallery, id, rules):
    if gallery.entry(id).plays(rules):
        board = np.zeros((1, rules.cells), dtype=np.int8)
        board[0, :2] = 1, -1
        probs = gallery.make(id, rules).probs(board)
        assert probs.shape == (1, rules.cells)
        assert probs.sum() == pytest.approx(1)
        assert not probs[0, :2].any()


def test_a_run_plays_on_its_own_board_only(gallery):
    assert isinstance(gallery.make("runs/dqn-0", SMALL), TabularPolicy)
    with pytest.raises(
        ValueError, match="runs/dqn-0 plays on 2x3, 2 in a row, not on 3x3, 3 in a row"
    ):
        gallery.make("runs/dqn-0", Rules())


def test_perfect_play_is_for_boards_that_can_be_solved(gallery):
    assert gallery.entry("minimax").plays(Rules(4, 4, 4))
    with pytest.raises(ValueError, match="minimax plays on boards of up to 16 cells"):
        gallery.make("minimax", Rules(5, 5, 4))


@pytest.mark.parametrize(
    "id",
    [
        "../runs/dqn-0",
        "runs/../runs/dqn-0",
        "/etc/passwd",
        "runs//dqn-0",
        "runs/dqn-0/",
        "runs/dqn-0/certificate.json",
        "runs",
        "",
        "RANDOM",
        "\0",
    ],
)
def test_what_is_not_listed_is_not_there_whatever_it_would_be_as_a_path(
    gallery, folders, monkeypatch, id
):
    monkeypatch.chdir(folders)
    for ask in (
        gallery.entry,
        gallery.player,
        gallery.certificate,
        lambda id: gallery.make(id, SMALL),
    ):
        with pytest.raises(ValueError, match="unknown agent"):
            ask(id)


def test_a_player_is_named_for_the_store_with_the_hash_of_its_certificate(gallery, folders):
    before = gallery.player("runs/dqn-0")
    assert (before.kind, before.name, len(before.source)) == ("run", "runs/dqn-0", 64)
    assert str(gallery.player("search-depth=2")) == "agent:search-depth=2"
    write(
        certify(perfect_table(SMALL), "dqn", SMALL), folders / "runs" / "dqn-0" / "certificate.json"
    )
    gallery.entries()
    assert gallery.player("runs/dqn-0").source != before.source


def test_new_runs_are_found_and_deleted_ones_are_gone(gallery, folders, content):
    gallery.entries()
    (folders / "runs" / "dqn-2").mkdir()
    write(content, folders / "runs" / "dqn-2" / "certificate.json")
    assert gallery.entry("runs/dqn-2").kind == "run"
    (folders / "runs" / "dqn-2" / "certificate.json").unlink()
    assert "runs/dqn-2" not in ids(gallery)


# --- what a run believes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", WITH_VALUES)
def test_a_run_that_can_say_more_than_its_moves_is_asked_without_torch(tmp_path, agent):
    folder = tmp_path / "runs" / agent

    def report(steps, policy, save, *_):
        save(folder, False)
        write(certify(policy, agent), folder / "certificate.json")
        return True

    folder.mkdir(parents=True)
    importlib.import_module(f"agents.{agent}").train(small_config(agent), report)
    gallery, board = Gallery([tmp_path / "runs"]), np.zeros((1, 9), dtype=np.int8)
    policy = gallery.make(f"runs/{agent}", Rules())
    mind = gallery.mind(f"runs/{agent}", policy)
    assert mind.probs(board).tolist() == policy.probs(board).tolist()
    assert hasattr(mind, {"tabular_q": "q_values", "trie": "is_new"}[agent])
    write(certify(perfect_table(Rules()), agent), folder / "certificate.json")
    with pytest.raises(ValueError, match="moves otherwise than the certificate beside it"):
        gallery.mind(f"runs/{agent}", gallery.make(f"runs/{agent}", Rules()))


def test_other_players_are_asked_themselves(gallery):
    for id, rules in (
        ("runs/dqn-0", SMALL),
        ("models/champion.json", SMALL),
        ("search-depth=2", Rules()),
    ):
        policy = gallery.make(id, rules)
        assert gallery.mind(id, policy) is policy


# --- broken certificates -------------------------------------------------------------------------------------------


def changed(content, **changes):
    return json.dumps({**content, **changes})


BROKEN = {
    "empty": (lambda content: "", "not JSON"),
    "cut": (lambda content: json.dumps(content)[:500], "not JSON"),
    "nested": (lambda content: "[" * 100_000, "not JSON"),
    "list": (lambda content: "[]", "not a certificate"),
    "format": (lambda content: changed(content, format=99), "not a certificate of format 1"),
    "no-agent": (lambda content: changed(content, agent=None), "names no agent"),
    "no-board": (lambda content: changed(content, board=[3, 3, 3]), "names no agent and no board"),
    "huge-board": (
        lambda content: changed(content, board={"rows": 99, "cols": 99, "k": 3}),
        "bits",
    ),
    "moves": (
        lambda content: changed(content, moves={**content["moves"], ".../...": "a1"}),
        "moves were changed",
    ),
    "no-moves": (lambda content: changed(content, moves=None), "moves were changed"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_certificate_is_listed_with_the_reason_and_does_not_stop_the_others(
    gallery, folders, content, kind
):
    text, reason = BROKEN[kind]
    (folders / "models" / "bad.json").write_text(text(content))
    entry = gallery.entry("models/bad.json")
    assert entry.broken
    assert reason in entry.about
    assert not entry.plays(SMALL)
    with pytest.raises(CertificateError, match=r"models/bad\.json is broken"):
        gallery.make("models/bad.json", SMALL)
    assert not gallery.entry("runs/dqn-0").broken


def test_a_certificate_with_another_figure_than_its_moves_is_found_out_when_it_is_shown(
    gallery, folders, content
):
    (folders / "models" / "bad.json").write_text(changed(content, unbeatable=True))
    assert not gallery.entry(
        "models/bad.json"
    ).broken  # every figure would have to be computed for the list
    with pytest.raises(
        CertificateError,
        match="unbeatable is False when computed from the moves, the certificate says True",
    ):
        gallery.certificate("models/bad.json")
    assert [
        (entry.broken, "unbeatable is False" in entry.about)
        for entry in gallery.entries()
        if entry.id == "models/bad.json"
    ] == [(True, True)]


def test_a_broken_certificate_that_is_written_anew_is_whole_again(gallery, folders, content):
    path = folders / "models" / "bad.json"
    path.write_text("{")
    assert gallery.entry("models/bad.json").broken
    write(content, path)
    gallery.entries()
    assert not gallery.entry("models/bad.json").broken


def test_a_link_that_leads_nowhere_is_listed_as_broken(gallery, folders):
    os.symlink(folders / "nowhere", folders / "models" / "gone.json")
    assert gallery.entry("models/gone.json").broken


def test_a_name_that_the_store_could_not_keep_is_listed_as_broken(gallery, folders, content):
    (folders / "runs" / ("a" * 120)).mkdir()
    write(content, folders / "runs" / ("a" * 120) / "certificate.json")
    assert "at most 100 printable characters" in gallery.entry(f"runs/{'a' * 120}").about


# --- what is proven ------------------------------------------------------------------------------------------------


def test_the_certificate_of_a_run_is_verified_and_that_of_a_player_built_in_is_computed(
    gallery, content
):
    assert gallery.certificate("runs/dqn-0") == content
    assert gallery.certificate("minimax")["unbeatable"] is True
    assert gallery.certificate("random")["as_x"]["losing_line"] is not None


def test_larger_boards_have_no_certificate(gallery):
    with pytest.raises(ValueError, match="nothing is proven on 4x4, 4 in a row"):
        gallery.certificate("random", Rules(4, 4, 4))


def test_a_gallery_works_without_torch(folders):
    program = (
        "import sys\n"
        "from players.gallery import Gallery\n"
        "from tictactoe_env.rules import Rules\n"
        "gallery = Gallery(['models', 'runs'])\n"
        "for entry in gallery.entries():\n"
        "    gallery.make(entry.id, entry.rules or Rules())\n"
        "print(sorted({'torch', 'stable_baselines3', 'rich', 'matplotlib'} & {name.split('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=folders,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
