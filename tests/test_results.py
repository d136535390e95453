"""benchmarks/results.py: the page of results is made of what the certificates say."""

import re

import pytest

from agents import TRAINABLE
from benchmarks import results
from benchmarks.results import ENTRIES, ORIGINS, READY, Entry
from tictactoe_env.certificate import certify, read, table_of
from tictactoe_env.match import exact_result
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy
from tictactoe_env.rules import Rules


def cells_of(policy):
    """The row of a player in the table of strength."""
    content = certify(policy, "somebody", Rules())
    text = results.strength({"a": content}, {"a": ("", "nothing")}, {"a": "name"})
    return [cell.strip() for cell in text.splitlines()[2].strip("|").split(" | ")]


def test_every_agent_is_among_the_entries_and_every_preset_there_exists():
    assert {entry.agent for entry in ENTRIES} == set(TRAINABLE)
    assert set(ORIGINS) <= {entry.name for entry in ENTRIES} | set(READY)
    assert all(entry.preset is None or entry.preset in entry.page.PRESETS for entry in ENTRIES)


def test_rates_and_distances_are_those_of_the_certificate():
    rates = ["96.78 / 3.22 / 0.00", "77.75 / 22.25 / 0.00", "2.70, 13.89"]
    assert cells_of(MinimaxPolicy(Rules())) == ["name", "", "nothing", *rates, "**no**"]
    row = cells_of(RandomPolicy())
    assert row[3:5] == ["58.49 / 12.70 / 28.81", "28.81 / 12.70 / 58.49"]
    assert re.fullmatch(r"as X, \d+\.\d\d %: [a-c1-3 ]+; as O, \d+\.\d\d %: [a-c1-3 ]+", row[6])


def test_numbers_and_names_in_the_tables():
    rates = {"win": 0.5, "draw": 0.25, "loss": 0.25, "illegal": 0.125}
    assert results.rates(rates) == "50.00 / 25.00 / 25.00 (illegal 12.50)"
    assert results.spread([3.0, 1.0, 2.0], 1) == "2.0 (1.0 to 3.0)"
    assert results.spread([2.0, 2.0], 2) == "2.00"
    weak = "trie-tophep, trained as O only (weak on purpose)"
    assert [results.label(Entry("trie", name)) for name in ("tophep", None)] == [weak, "trie"]


@pytest.mark.slow
def test_the_page_says_what_its_runs_say_and_loads_them_again(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RUNS", tmp_path / "runs")
    entries = [Entry("tabular_q", until="unbeatable"), Entry("trie", "tophep")]
    text = results.document(entries, {"random": "random"}, 2, tmp_path / "RESULTS.md")
    runs = {path.name: read(path) for path in sorted((tmp_path / "runs").iterdir())}
    assert set(runs) == {"tabular_q-0", "tabular_q-1", "trie-tophep-0"}, "the weak one once"
    assert results.rates(runs["tabular_q-0"]["as_x"]["vs_random"]) in text
    assert f"{runs['trie-tophep-0']['training']['seconds']:.1f} | 10,000 games" in text
    found = exact_result(table_of(runs["tabular_q-0"]), RandomPolicy())
    assert "/".join(f"{100 * getattr(found, rate):.0f}" for rate in ("win", "draw", "loss")) in text
    assert (tmp_path / "cross_table.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(results.subprocess, "run", None)
    assert results.document(entries, {"random": "random"}, 2, tmp_path / "RESULTS.md") == text
