import json
import os

import numpy as np
import pytest
from sample_players import LineCounter
from text_cases import refuses

from apps.players.gallery import Gallery
from apps.players.titles import LEARNER_ID, PLAYERS
from tictactoe_env import RandomPolicy, Rules, TabularPolicy
from tictactoe_env.certificates.certificate import CertificateError, certify, write
from tictactoe_env.certificates.trained import trained_names
from tictactoe_env.exact.solver import MinimaxPolicy
from tictactoe_env.opponents import untrained_names

LISTED = trained_names(None)
SMALL = Rules(2, 3, 2)
CONTENT = certify(RandomPolicy(), "dqn", SMALL, seed=7)
JSON = CONTENT.to_json()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """models/champion.json, runs/dqn-0 and runs/many/dqn-1: random play on 2x3."""
    for name in ("models/champion", "runs/dqn-0/certificate", "runs/many/dqn-1/certificate"):
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(CONTENT, path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gallery(folders):
    return Gallery([folders / "models", folders / "runs"])


def ids(gallery):
    return [entry.id for entry in gallery.entries()]


def changed(**changes):
    return json.dumps({**JSON, **changes})


def test_a_certificate_of_lines_is_an_agent_of_its_board(folders):
    rules = Rules(4, 4, 4)
    content = certify(LineCounter(rules), "lines", rules, sides=("X",))
    write(content, folders / "models" / "lines.json")
    gallery = Gallery([folders / "models"])
    entry = gallery.entry("models/lines.json")
    assert (entry.rules, entry.unbeatable) == (rules, None)
    assert ("claims" in entry.description, "as X" in entry.description) == (True, True)
    assert entry.certificate() == content
    empty = np.zeros(16, dtype=np.int8)
    first = gallery.entry(entry.id).seat(rules).move(empty, np.random.default_rng(0))
    assert first == LineCounter(rules).probs(empty[None]).argmax()


def test_the_players_of_the_package_come_first_then_every_run_by_its_place(gallery, folders):
    untrained = dict.fromkeys([*PLAYERS, *untrained_names()])
    named = [name for name in untrained if name not in {*LISTED, LEARNER_ID}]
    ours, runs = [*named, *LISTED], ["runs/dqn-0", "runs/many/dqn-1"]
    assert ids(gallery) == [*ours, "runs/learner", "models/champion.json", *runs]
    assert ids(Gallery([folders / "none"])) == ours
    os.chdir("runs")
    assert ids(Gallery(["."]))[-2:] == runs
    entry = gallery.entry("runs/many/dqn-1")
    assert (entry.kind, entry.agent, entry.rules) == ("run", "dqn", SMALL)
    assert "seed 7" in entry.title


def test_a_run_plays_on_its_own_board_only_and_latest_is_the_newest_of_an_agent(gallery):
    assert isinstance(gallery.entry("runs/dqn-0").seat(SMALL).policy, TabularPolicy)
    with refuses("runs/dqn-0", SMALL, Rules()):
        gallery.entry("runs/dqn-0").seat(Rules())
    os.utime("runs/dqn-0/certificate.json", (2e9, 2e9))
    assert gallery.entry("latest:dqn", SMALL).seat(SMALL).name == "runs/dqn-0"
    assert gallery.entry("latest:dqn").participant.name == "runs/dqn-0"


NO_IDS = (
    *("../runs/dqn-0", "/etc/passwd", "runs/dqn-0/", "RANDOM", "\0", "", "runs", "runs/many"),
    *("runs/../runs/dqn-0", "runs//dqn-0", "runs/./dqn-0", "runs/dqn-0/certificate.json"),
    *("runs/link", "runs/linked/dqn-1", "runs/.hidden", "runs/dqn-0/inner", "champion.json"),
)


@pytest.mark.parametrize("id", NO_IDS)
def test_what_is_not_listed_is_not_there_even_if_it_is_a_path(gallery, folders, id):
    for name in (".hidden", "dqn-0/inner"):
        (folders / "runs" / name).mkdir()
        write(CONTENT, folders / "runs" / name / "certificate.json")
    os.symlink(folders / "runs" / "dqn-0", folders / "runs" / "link")
    os.symlink(folders / "runs" / "many", folders / "runs" / "linked")
    assert id not in ids(gallery)
    with refuses(repr(id)):
        gallery.player(id)


def test_new_changed_and_deleted_runs_are_seen(gallery, folders):
    before, path = gallery.entry("runs/dqn-0").participant, folders / "runs/dqn-0/certificate.json"
    assert (before.kind, before.name, len(before.source)) == ("run", "runs/dqn-0", 64)
    write(certify(MinimaxPolicy(SMALL), "dqn", SMALL), path)
    now = gallery.entry("runs/dqn-0").participant
    assert gallery.entry("runs/dqn-0").seat(SMALL).player == now != before
    write(CONTENT, folders / "runs/new.json")
    assert gallery.entry("runs/new.json").kind == "run"
    (folders / "runs/new.json").unlink()
    assert "runs/new.json" not in ids(gallery)


BROKEN = {  # a certificate, and what the reason names
    "": "JSON",
    changed(moves={".../...": "a1"}): "moves",
    changed(as_o={**JSON["as_o"], "optimal": True}): "as_o",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_certificate_is_listed_with_the_reason_and_does_not_stop_the_others(
    gallery, folders, text
):
    path = folders / "models/bad.json"
    path.write_text(text)
    entry = gallery.entry("models/bad.json")
    assert (entry.broken, entry.plays(SMALL)) == (True, False)
    assert BROKEN[text] in entry.description
    with refuses("models/bad.json", error=CertificateError):
        gallery.entry("models/bad.json").seat(SMALL)
    assert not gallery.entry("runs/dqn-0").broken
    write(CONTENT, path)
    gallery.entries()
    assert not gallery.entry("models/bad.json").broken


def test_a_claim_of_a_board_of_more_than_9_cells_is_verified_when_it_is_asked_for(gallery, folders):
    path = folders / "models/claim.json"
    content = certify(RandomPolicy(), "dqn", Rules(1, 10, 1)).to_json()
    path.write_text(json.dumps(content))
    claim = gallery.entry("models/claim.json")
    assert (claim.unbeatable, "claims" in claim.description) == (None, True)
    assert not claim.certificate().unbeatable
    path.write_text(json.dumps({**content, "as_x": {**content["as_x"], "worst_case_loss": 0.5}}))
    with refuses("as_x.worst_case_loss", error=CertificateError):
        gallery.entry("models/claim.json").certificate()
