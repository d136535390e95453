"""benchmarks/results.py: the page of results is made of what the certificates say."""

import re

import pytest

from agents import TRAINABLE
from benchmarks import results
from benchmarks.results import ENTRIES, ORIGINS, READY, Entry
from tictactoe_env.certificate import certify, read, table_of
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy, tabulate
from tictactoe_env.rules import Rules

PERFECT, UNIFORM = (
    certify(policy, "somebody", Rules()) for policy in (MinimaxPolicy(Rules()), RandomPolicy())
)


def rows(text):
    """The cells of the Markdown tables of a text."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("|") and "---" not in line
    ]


def test_every_agent_is_among_the_entries_and_every_preset_there_exists():
    assert {entry.agent for entry in ENTRIES} == set(TRAINABLE)
    assert set(ORIGINS) <= {entry.name for entry in ENTRIES} | set(READY)
    assert all(entry.preset is None or entry.preset in entry.page.PRESETS for entry in ENTRIES)


def test_rates_and_distances_are_those_of_the_certificate():
    (row,) = rows(
        results.strength(
            {"perfect": PERFECT}, {"perfect": ("", "nothing")}, {"perfect": "perfect play"}
        )
    )[1:]
    assert row == [
        "perfect play",
        "",
        "nothing",
        "96.78 / 3.22 / 0.00",
        "77.75 / 22.25 / 0.00",
        "2.70, 13.89",
        "**no**",
    ]
    (row,) = rows(
        results.strength({"random": UNIFORM}, {"random": ("", "nothing")}, {"random": "random"})
    )[1:]
    assert row[3:5] == ["58.49 / 12.70 / 28.81", "28.81 / 12.70 / 58.49"]
    assert re.fullmatch(r"as X, \d+\.\d\d %: [a-c1-3 ]+; as O, \d+\.\d\d %: [a-c1-3 ]+", row[6])


def test_illegal_moves_are_said_where_there_are_any():
    assert (
        results.rates({"win": 0.5, "draw": 0.25, "loss": 0.25, "illegal": 0.125})
        == "50.00 / 25.00 / 25.00 (illegal 12.50)"
    )


def test_a_median_comes_with_its_range():
    assert results.spread([3.0, 1.0, 2.0], 1) == "2.0 (1.0 to 3.0)"
    assert results.spread([2.0, 2.0], 2) == "2.00"


def test_what_is_weak_on_purpose_or_plays_one_side_is_labelled_so():
    assert (
        results.label(Entry("trie", "tophep")) == "trie-tophep, trained as O only (weak on purpose)"
    )
    assert results.label(Entry("trie")) == "trie"


@pytest.mark.slow
def test_the_page_says_what_its_runs_say_and_loads_them_again(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RUNS", tmp_path / "runs")
    entries = [Entry("tabular_q", until="unbeatable"), Entry("trie", "tophep")]
    text = results.document(entries, {"random": "random"}, 2, tmp_path / "RESULTS.md")
    runs = {path.name: read(path) for path in sorted((tmp_path / "runs").iterdir())}
    assert set(runs) == {"tabular_q-0", "tabular_q-1", "trie-tophep-0"}, (
        "what is weak on purpose is trained once"
    )
    assert results.rates(runs["tabular_q-0"]["as_x"]["vs_random"]) in text
    assert f"{runs['trie-tophep-0']['training']['seconds']:.1f} | 10,000 games" in text
    found = results.cross_table(
        {"a": table_of(runs["tabular_q-0"]), "b": tabulate(RandomPolicy(), Rules())}
    )["a"]["b"]
    assert "/".join(f"{100 * found[rate]:.0f}" for rate in ("win", "draw", "loss")) in text
    assert (tmp_path / "cross_table.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(results.subprocess, "run", None)
    assert results.document(entries, {"random": "random"}, 2, tmp_path / "RESULTS.md") == text
