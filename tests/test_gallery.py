import json
import os

import numpy as np
import pytest
from small_runs import ROOT, python, trained

from agents import WITH_VALUES
from players.gallery import BUILT_IN, Gallery
from tictactoe_env.certificate import CertificateError, certify, load_policy, write
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, TabularPolicy
from tictactoe_env.rules import Rules

SMALL = Rules(2, 3, 2)


@pytest.fixture(scope="module")
def content():
    return certify(RandomPolicy(), "dqn", SMALL, seed=7)


@pytest.fixture
def folders(tmp_path, content):
    """models/champion.json, runs/dqn-0 and runs/many/dqn-1: random play on 2x3."""
    runs = (tmp_path / "runs" / name for name in ("dqn-0", "many/dqn-1"))
    for path in (tmp_path / "models/champion.json", *(run / "certificate.json" for run in runs)):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(content, path)
    return tmp_path


@pytest.fixture
def gallery(folders):
    return Gallery([folders / "models", folders / "runs"])


def ids(gallery):
    return [entry.id for entry in gallery.entries()]


def test_players_without_training_come_first_then_every_certificate_by_its_place(gallery, tmp_path):
    assert ids(gallery) == [*BUILT_IN, "models/champion.json", "runs/dqn-0", "runs/many/dqn-1"]
    assert ids(Gallery([tmp_path / "none"])) == list(BUILT_IN)
    with pytest.raises(ValueError, match="must have different names"):
        Gallery([tmp_path / "runs", tmp_path / "old" / "runs"])


def test_a_folder_given_as_a_dot_is_named_too(folders, monkeypatch):
    monkeypatch.chdir(folders / "runs")
    assert ids(Gallery(["."]))[-2:] == ["runs/dqn-0", "runs/many/dqn-1"]


def test_an_entry_says_what_it_is(gallery, folders):
    entry = gallery.entry("runs/many/dqn-1")
    assert (entry.kind, entry.name, entry.agent, entry.rules) == ("run", "dqn-1", "dqn", SMALL)
    assert (entry.boards, entry.about) == ("2x3, 2 in a row", "dqn, seed 7, can be beaten")
    assert gallery.entry("minimax").about == "perfect play, ties drawn at random"
    assert gallery.entry("minimax").boards == "boards of up to 16 cells"
    assert gallery.entry("random").boards == "any board"
    perfect = certify(MinimaxPolicy(Rules()), "dqn", training={"preset": "quick"})
    write(perfect, folders / "models" / "perfect.json")
    assert gallery.entry("models/perfect.json").about == "dqn-quick, cannot be beaten"


@pytest.mark.parametrize("id", BUILT_IN)
@pytest.mark.parametrize("rules", [Rules(), Rules(3, 4, 3), Rules(5, 5, 4)], ids=str)
def test_players_without_training_move_on_every_board_that_they_name(gallery, id, rules):
    if gallery.entry(id).plays(rules):
        board = np.zeros(rules.cells, dtype=np.int8)
        board[:2] = 1, -1
        seat = gallery.seat(id, rules)
        probs = seat.policy.probs(board[None])
        assert probs.sum() == pytest.approx(1)
        assert not probs[0, :2].any()
        assert probs[0, seat.move(board, np.random.default_rng(0))] > 0
        assert str(seat.player) == str(gallery.player(id)) == f"agent:{id}"
    else:
        with pytest.raises(ValueError, match=f"{id} plays on boards of up to 16 cells"):
            gallery.seat(id, rules)


@pytest.mark.parametrize(
    ("name", "boards"),
    [
        ("search-depth=3-ties=first", "any board"),
        ("minimax-slip=0.5", "boards of up to 16 cells"),
        ("search-ties=first", "boards of up to 16 cells"),
        ("mcts-playouts=20", "any board"),
    ],
)
def test_a_name_with_options_that_is_not_listed_is_there_too(gallery, name, boards):
    assert (gallery.entry(name).id, gallery.entry(name).boards) == (name, boards)
    assert gallery.seat(name, SMALL).name == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("search-depth=7", "depth of search must be at most 6 here"),
        ("mcts-playouts=1000000", "playouts of mcts must be at most"),
        ("mcts-value=/etc/passwd", "names a file"),
        ("search-deep=3", "did you mean 'depth'"),
    ],
)
def test_options_that_cost_too_much_or_read_files_are_refused(gallery, name, words):
    with pytest.raises(ValueError, match=words):
        gallery.entry(name)


def test_a_run_plays_on_its_own_board_only_and_an_agent_is_its_newest_run(gallery, folders):
    assert isinstance(gallery.seat("runs/dqn-0", SMALL).policy, TabularPolicy)
    with pytest.raises(ValueError, match="runs/dqn-0 plays on 2x3, 2 in a row, not on 3x3, 3"):
        gallery.seat("runs/dqn-0", Rules())
    os.utime(folders / "runs" / "dqn-0" / "certificate.json", (2e9, 2e9))
    assert gallery.seat("dqn", SMALL).name == gallery.player("dqn").name == "runs/dqn-0"


NOT_LISTED = "../runs/dqn-0|runs/../runs/dqn-0|/etc/passwd|runs//dqn-0|runs/dqn-0/|runs||RANDOM|\0"


@pytest.mark.parametrize("id", [*NOT_LISTED.split("|"), "runs/dqn-0/certificate.json"])
def test_what_is_not_listed_is_not_there_whatever_it_would_be_as_a_path(
    gallery, folders, monkeypatch, id
):
    monkeypatch.chdir(folders)
    asked = [gallery.entry, gallery.player, gallery.certificate]
    for ask in (*asked, lambda id: gallery.seat(id, SMALL)):
        with pytest.raises(ValueError, match="unknown agent"):
            ask(id)


def test_new_changed_and_deleted_runs_are_seen(gallery, folders, content):
    before, path = gallery.player("runs/dqn-0"), folders / "runs" / "dqn-0" / "certificate.json"
    assert (before.kind, before.name, len(before.source)) == ("run", "runs/dqn-0", 64)
    write(certify(MinimaxPolicy(SMALL), "dqn", SMALL), path)
    gallery.entries()
    assert gallery.seat("runs/dqn-0", SMALL).player == gallery.player("runs/dqn-0") != before
    (folders / "runs" / "dqn-2").mkdir()
    write(content, folders / "runs" / "dqn-2" / "certificate.json")
    assert gallery.entry("runs/dqn-2").kind == "run"
    (folders / "runs" / "dqn-2" / "certificate.json").unlink()
    assert "runs/dqn-2" not in ids(gallery)


@pytest.mark.parametrize("agent", WITH_VALUES)
def test_a_run_that_says_more_than_its_moves_is_asked_for_it(tmp_path, agent):
    folder, board = tmp_path / "runs" / agent, np.zeros(9, dtype=np.int8)
    assert trained(agent, folder, "--judge-every", "50", steps=50) == 0
    gallery = Gallery([tmp_path / "runs"])
    seat = gallery.seat(f"runs/{agent}", Rules())
    assert np.array_equal(seat.policy.table, load_policy(folder).table)
    assert seat.thinks_at_once
    assert seat.thoughts(board).kind == {"tabular_q": "own", "trie": "expected"}[agent]
    assert not seat.is_new(board)
    write(certify(MinimaxPolicy(Rules()), agent), folder / "certificate.json")
    with pytest.raises(ValueError, match="does not make the moves of the certificate beside it"):
        gallery.seat(f"runs/{agent}", Rules())


# --- broken certificates ----------------------------------------------------------------------


def changed(**changes):
    return lambda content: json.dumps({**content, **changes})


BROKEN = {
    "empty": (lambda content: "", "not JSON"),
    "list": (lambda content: "[]", "not a certificate"),
    "no-agent": (changed(agent=None), "names no agent"),
    "no-board": (changed(board=[3, 3, 3]), "names no agent and no board"),
    "huge-board": (changed(board={"rows": 99, "cols": 99, "k": 3}), "bits"),
    "moves": (changed(moves={".../...": "a1"}), "moves were changed"),
    "no-moves": (changed(moves=None), "moves were changed"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_certificate_is_listed_with_the_reason_and_does_not_stop_the_others(
    gallery, folders, content, kind
):
    (text, reason), path = BROKEN[kind], folders / "models" / "bad.json"
    path.write_text(text(content))
    entry = gallery.entry("models/bad.json")
    assert (entry.broken, entry.plays(SMALL)) == (True, False)
    assert reason in entry.about
    with pytest.raises(CertificateError, match=r"models/bad\.json is broken"):
        gallery.seat("models/bad.json", SMALL)
    assert not gallery.entry("runs/dqn-0").broken
    write(content, path)
    gallery.entries()
    assert not gallery.entry("models/bad.json").broken


def test_what_is_only_seen_in_all_the_moves_breaks_a_certificate_later(gallery, folders, content):
    path = folders / "models" / "bad.json"
    path.write_text(changed(unbeatable=True)(content))
    assert not gallery.entry("models/bad.json").broken  # the list does not compute every result
    with pytest.raises(CertificateError, match="unbeatable is False when computed from the moves"):
        gallery.certificate("models/bad.json")
    assert "unbeatable is False" in gallery.entry("models/bad.json").about
    moves = {**content["moves"], next(iter(content["moves"])): "z9"}
    write({**certify(RandomPolicy(), "dqn", SMALL), "moves": moves}, path)
    with pytest.raises(CertificateError, match="is broken"):
        gallery.seat("models/bad.json", SMALL)


def test_links_to_nowhere_and_names_that_the_store_could_not_keep_are_broken(
    gallery, folders, content
):
    os.symlink(folders / "nowhere", folders / "models" / "gone.json")
    assert gallery.entry("models/gone.json").broken
    (folders / "runs" / ("a" * 120)).mkdir()
    write(content, folders / "runs" / ("a" * 120) / "certificate.json")
    assert "at most 100 printable characters" in gallery.entry(f"runs/{'a' * 120}").about


def test_a_certificate_is_verified_for_a_run_and_computed_for_the_others(gallery, content):
    assert gallery.certificate("runs/dqn-0") == content
    assert gallery.certificate("minimax")["unbeatable"] is True
    assert gallery.certificate("random")["as_x"]["losing_line"] is not None
    with pytest.raises(ValueError, match="nothing is proven on 4x4, 4 in a row"):
        gallery.certificate("random", Rules(4, 4, 4))
    with pytest.raises(ValueError, match="plays on 2x3, 2 in a row, not on 3x3"):
        gallery.certificate("runs/dqn-0", Rules())


def test_a_gallery_works_without_torch(folders):
    program = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        f"os.chdir({str(folders)!r})\n"
        "from players.gallery import Gallery\n"
        "from tictactoe_env.rules import Rules\n"
        "gallery = Gallery(['models', 'runs'])\n"
        "for entry in gallery.entries():\n"
        "    gallery.seat(entry.id, entry.rules or Rules())\n"
        "heavy = {'torch', 'stable_baselines3', 'rich', 'matplotlib'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))\n"
    )
    done = python("-c", program)
    assert (done.stdout, done.stderr) == ("[]\n", "")
