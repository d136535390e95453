"""benchmarks/results.py: the page of results is made of what the certificates say."""

import json
import re
from dataclasses import asdict

import pytest
from small_runs import ROOT

from agents import TRAINABLE, page
from benchmarks import results
from benchmarks.results import ENTRIES, ORIGINS, READY, Entry
from tictactoe_env.certificate import certify, read, table_of, write
from tictactoe_env.match import exact_result
from tictactoe_env.policy import MinimaxPolicy, RandomPolicy
from tictactoe_env.rules import Rules
from tictactoe_env.trained import FOLDER, facts_of
from training.manifest import write_manifest

BEST = MinimaxPolicy(Rules())


def cells_of(policy, **about):
    """The row of a player in the table of strength."""
    content = certify(policy, "somebody", Rules(), **about)
    text = results.strength({"a": content}, {"a": ("", "nothing")}, {"a": "name"})
    return [cell.strip() for cell in text.splitlines()[2].strip("|").split(" | ")]


def test_every_agent_and_every_preset_on_3x3_is_an_entry():
    on_3x3 = {
        agent: [name for name, one in page(agent).PRESETS.items() if "rows" not in one.options]
        for agent in TRAINABLE
    }
    expected = {(agent, preset) for agent in TRAINABLE for preset in (None, *on_3x3[agent])}
    assert {(entry.agent, entry.preset) for entry in ENTRIES} == expected
    assert len(ENTRIES) == len(expected)
    beside = [name for origin in ORIGINS for name in origin.entries]
    assert set(beside) <= {entry.name for entry in ENTRIES} | set(READY)
    assert len(beside) == len(set(beside))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_trained_agent_of_the_package_has_the_configuration_of_today(entry):
    facts = facts_of(entry.name)
    default, wanted = (asdict(one) for one in (entry.page.Config(), entry.config(facts["seed"])))
    assert {**as_json(default), **facts["config"]} == as_json(wanted)
    has_values = (FOLDER / f"{entry.name}.npz").exists()
    assert has_values == (entry.agent not in ("maskable_ppo", "neuroevolution")), "own values"


def as_json(config):
    return json.loads(json.dumps(config))


def test_rates_and_distances_are_those_of_the_certificate():
    rates = ["96.78 / 3.22 / 0.00", "77.75 / 22.25 / 0.00"]
    row = cells_of(MinimaxPolicy(Rules()))
    assert row == ["name", "", "nothing", *rates, "2.70, 13.89", "**no**"]
    row = cells_of(MinimaxPolicy(Rules()), config={"side": "O"})
    only = ["not trained for", rates[1], "not trained for, 13.89", "**no**, as O"]
    assert row == ["name", "", "nothing", *only], "of one side"
    row = cells_of(RandomPolicy())
    assert row[3:5] == ["58.49 / 12.70 / 28.81", "28.81 / 12.70 / 58.49"]
    assert re.fullmatch(r"as X, \d+\.\d\d %: [a-c1-3 ]+; as O, \d+\.\d\d %: [a-c1-3 ]+", row[6])


def test_seeds_that_can_be_beaten_are_counted_for_the_sides_that_were_trained():
    entry, one_side = Entry("tabular_q", "tictac"), Entry("trie", "tophep")
    contents = [certify(player, "somebody", Rules()) for player in (RandomPolicy(), BEST, BEST)]
    assert results.seed_cells(entry, contents) == [
        *("1 of 3", "1 of 3"),
        *("96.78 (58.49 to 96.78)", "0.00 (0.00 to 28.81)"),
        *("77.75 (28.81 to 77.75)", "0.00 (0.00 to 58.49)"),
        "0.00",
    ]
    not_trained = "not trained for"
    assert results.seed_cells(one_side, contents[:1]) == [
        *(not_trained, "1 of 1", not_trained, not_trained, "28.81", "58.49", "0.00")
    ]
    as_o = {**contents[0], "config": {"side": "O"}}
    assert [results.beatable([content]) for content in (as_o, contents[1])] == [1, 0]


def test_a_run_that_was_made_before_an_option_existed_is_recognized(tmp_path):
    entry = Entry("mcts")
    saved = asdict(entry.config(3))
    write(certify(BEST, "mcts", Rules()), tmp_path / "certificate.json")

    def is_recognized(config):
        (tmp_path / "config.json").write_text(json.dumps({"agent": "mcts", "config": config}))
        return entry.is_saved_in(tmp_path, 3)

    before = {name: value for name, value in saved.items() if name != "playout"}
    assert not is_recognized(saved), "it was killed before its manifest"
    write_manifest(tmp_path, 0)
    assert is_recognized(saved)
    assert is_recognized(before), "the default of the new option"
    assert not is_recognized({**before, "seed": 4})
    assert not is_recognized({**saved, "draws": 1.0})
    assert not is_recognized({**saved, "unknown": 1})
    assert not Entry("mcts", "tictac").is_saved_in(tmp_path, 3), "it uses the new option"


def test_numbers_and_names_in_the_tables():
    rates = {"win": 0.5, "draw": 0.25, "loss": 0.25, "illegal": 0.125}
    assert results.rates(rates) == "50.00 / 25.00 / 25.00 (illegal 12.50)"
    assert results.spread([3.0, 1.0, 2.0], 1) == "2.0 (1.0 to 3.0)"
    assert results.spread([2.0, 2.0], 2) == "2.00"
    weak = "trie-tophep, trained as O only (a copy, weaknesses included)"
    assert [results.label(Entry("trie", name)) for name in ("tophep", None)] == [weak, "trie"]


@pytest.mark.slow
def test_the_page_is_the_same_twice_in_all_but_the_seconds(tmp_path, monkeypatch):
    """Live search, presets and trainings are trained and drawn anew."""
    pages = []
    monkeypatch.setattr(results, "read", lambda folder: without_seconds(read(folder)))
    for number in range(2):
        monkeypatch.setattr(results, "RUNS", tmp_path / f"runs{number}")
        (tmp_path / str(number)).mkdir()
        entries = [Entry("trie", "tophep"), Entry("mcts", "tictac"), Entry("tabular_q", "tictac")]
        out = tmp_path / str(number) / "RESULTS.md"
        text = results.document(entries, results.READY, 1, out)
        pages.append((text, out.with_name(results.PICTURE).read_bytes()))
    assert pages[0] == pages[1]


def without_seconds(value):
    """A certificate with all seconds 0."""
    if isinstance(value, dict):
        return {key: 0.0 if key == "seconds" else without_seconds(value[key]) for key in value}
    return value


@pytest.mark.slow
def test_the_page_says_what_its_runs_say_and_loads_them_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "RUNS", tmp_path / "runs")
    entries = [Entry("tabular_q", until="unbeatable"), Entry("trie", "tophep")]
    ready = {"search": "search", "random": "random"}
    text = results.document(entries, ready, 2, tmp_path / "RESULTS.md")
    folders = sorted(path for path in (tmp_path / "runs").iterdir() if path.is_dir())
    runs = {path.name: read(path) for path in folders}
    assert set(runs) == {"tabular_q-0", "tabular_q-1", "trie-tophep-0", "trie-tophep-1"}
    assert results.rates(runs["tabular_q-0"]["as_x"]["vs_random"]) in text
    assert f"{runs['trie-tophep-0']['training']['seconds']:.1f} | 10,000 games" in text
    assert (
        "| trie-tophep, trained as O only (a copy, weaknesses included) | not trained for | "
        "2 of 2 |" in text
    )
    found = exact_result(table_of(runs["tabular_q-0"]), RandomPolicy())
    assert "/".join(f"{100 * getattr(found, rate):.0f}" for rate in ("win", "draw", "loss")) in text
    assert (tmp_path / "cross_table.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(results, "train_jobs", None)
    assert results.document(entries, ready, 2, tmp_path / "RESULTS.md") == text
    beside = text.partition("## Beside")[2].partition("## All")[0].splitlines()
    last = [line.strip("| ").rpartition(" | ")[2] for line in beside if line.startswith("| ")]
    of_trie = "95.83 % of games lost to the best opponent"
    assert last[2:] == ["**no**", "no", "0 of 2 seeds", "0 of 12 runs", "2 of 2 seeds", of_trie]
    monkeypatch.setattr(results, "ENTRIES", tuple(entries))
    monkeypatch.chdir(ROOT)
    assert results.main(["--seeds", "2", "--only", "trie-tophep"]) is None
    printed = capsys.readouterr().out
    assert "tabular_q" not in printed
    assert all(line in text for line in printed.splitlines()), "the same rows as in the document"
