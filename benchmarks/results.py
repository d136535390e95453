"""Exact results of every agent: trains all agents and writes docs/RESULTS.md: `make results`.

Runs in runs/results with the same configuration are loaded; all others are trained, each in its own
process. Seconds are those of training, with exact evaluations but without imports. `--seeds 10`
adds medians over ten seeds of all agents that are not weak on purpose; `--jobs 2` trains two runs
at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import agents
from terminal.report import cross_table
from tictactoe_env.certificate import FILE, certify, read, table_of, versions
from tictactoe_env.files import write_file
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.rules import Rules
from training.options import Preset
from training.plots import heat_map

ROOT = Path(__file__).parent.parent
RUNS = Path("runs") / "results"
PICTURE = "cross_table.png"
SIDES = ("X", "O")


@dataclass(frozen=True)
class Entry:
    """What is trained: an agent, its preset, and the goal of the training (train.py --until)."""

    agent: str
    preset: str | None = None
    until: str = "steps"

    @property
    def name(self) -> str:
        """The name of the agent, followed by that of the preset."""
        return f"{self.agent}-{self.preset}" if self.preset else self.agent

    @property
    def page(self) -> Any:
        """The module of the agent."""
        return agents.page(self.agent)

    @property
    def weak(self) -> bool:
        """Whether it reproduces a weakness on purpose."""
        presets: dict[str, Preset] = self.page.PRESETS
        return self.preset is not None and presets[self.preset].weak

    def config(self, seed: int) -> Any:
        """The configuration of its training."""
        options = self.page.PRESETS[self.preset].options if self.preset else {}
        return self.page.Config(**{**options, "seed": seed})

    @property
    def command(self) -> str:
        """The command line that trains it."""
        preset = f" --preset {self.preset}" if self.preset else ""
        until = "" if self.until == "steps" else f" --until {self.until}"
        return f"train.py {self.agent}{preset}{until}"


ENTRIES = (
    Entry("maskable_ppo", until="optimal"),
    Entry("dqn", until="optimal"),
    Entry("tabular_q", until="optimal"),
    Entry("mcts"),
    Entry("trie", until="unbeatable"),
    Entry("tictacnet", until="optimal"),
    Entry("value_net"),
    Entry("neuroevolution", until="unbeatable"),
    Entry("dqn", "duel-first"),
    Entry("dqn", "duel-second"),
    Entry("dqn", "duel-centre"),
    Entry("tabular_q", "tictac"),
    Entry("mcts", "tictac"),
    Entry("value_net", "learnbyplay"),
    Entry("neuroevolution", "dimitars-punished"),
    Entry("trie", "tophep"),
)
READY = {
    "search": "search",
    "mcts live, 1,000 playouts a move": "mcts-playouts=1000",
    "minimax, random ties": "minimax",
    "random": "random",
}


@dataclass(frozen=True)
class Origin:
    """The results of the system on which an agent is based, measured by running it or a port of it.

    cost: of the training. x, o: exact wins / draws / losses against random, in per cent.
    beaten: whether it can be beaten.
    """

    system: str
    cost: str
    x: str
    o: str
    beaten: str


GO = "andrey-matveyev/go-sample-tictactoe"
TICTAC = "nestedsoftware/tictac"
ORIGINS = {
    "dqn-duel-first": Origin(
        GO,
        "109 to 129 s",
        "90.89 to 97.14 / 0.52 to 1.04 / 2.34 to 8.07",
        "not trained for",
        "3 of 3 runs",
    ),
    "dqn-duel-centre": Origin(
        GO,
        "102 to 120 s",
        "96.09 to 97.14 / 0.26 to 1.04 / 1.82 to 3.65",
        "not trained for",
        "2 of 2 runs",
    ),
    "dqn-duel-second": Origin(
        GO,
        "100 to 124 s",
        "not trained for",
        "69.52 to 75.87 / 1.80 to 4.44 / 22.33 to 26.03",
        "2 of 2 runs",
    ),
    "value_net": Origin(
        "sebastiengilbert73/tutorial_learnbyplay",
        "1.8 h",
        "98.70 to 99.48 / 0.52 to 1.30 / 0",
        "88.04 to 90.16 / 9.84 to 11.96 / 0 to 0.21",
        "1 of 3 runs",
    ),
    "search": Origin(
        f"{TICTAC}, minimax",
        "none",
        "96.78 / 3.22 / 0 (first: 99.48 / 0.52 / 0)",
        "77.75 / 22.25 / 0 (first: 80.63 / 19.37 / 0)",
        "never",
    ),
    "tabular_q": Origin(
        f"{TICTAC}, Q table",
        "21 s",
        "92.97 to 97.40, no losses",
        "44.97 to 76.83, no losses",
        "0 of 5 runs",
    ),
    "mcts": Origin(f"{TICTAC}, MCTS", "10.5 s", "81.51 / 18.49 / 0", "62.22 / 37.78 / 0", "no"),
    "tictacnet": Origin(
        f"{TICTAC}, neural Q",
        "1.0 to 1.2 h",
        "97.89 / 1.97 / 0.14, mean",
        "79.51 / 20.49 / 0, mean",
        "7 of 20 runs, as X",
    ),
    "neuroevolution": Origin(
        "the league of blog.dimitars.dev",
        "30 min",
        "22 to 54 wins",
        "1 to 20 wins",
        "by almost anything, most games by its own illegal move",
    ),
    "trie": Origin(
        "tophep/TicTacToe",
        "38 s",
        "cannot play X",
        "37.93 / 38.26 / 23.81",
        "95.83 % of games lost to the best opponent",
    ),
}


# --- training -----------------------------------------------------------------------------------


def trained(entry: Entry, seed: int) -> dict[str, Any]:
    """The certificate of a run, which is trained unless there is one with this configuration."""
    folder = RUNS / f"{entry.name}-{seed}"
    config = json.loads(json.dumps(asdict(entry.config(seed))))
    is_there = (folder / FILE).exists()
    if is_there and json.loads((folder / "config.json").read_text())["config"] == config:
        return dict(read(folder))
    shutil.rmtree(folder, ignore_errors=True)
    preset = ["--preset", entry.preset] if entry.preset else []
    options = [*preset, "--seed", str(seed), "--until", entry.until, "--out", str(folder)]
    command = [sys.executable, "train.py", entry.agent, *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - began
    print(f"{entry.name}, seed {seed}: {seconds:.1f} s in all", file=sys.stderr, flush=True)
    if not (folder / FILE).exists():
        said = done.stderr.strip() or done.stdout.strip()[-500:]
        raise ValueError(f"{' '.join(command[1:])} failed: {said}")
    return dict(read(folder))


def train_all(entries: Sequence[Entry], seeds: int, jobs: int) -> None:
    """Train what is not there yet: all entries with seed 0, and the strong ones with all seeds."""
    wanted = [
        (entry, seed) for seed in range(seeds) for entry in entries if seed == 0 or not entry.weak
    ]
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda one: trained(*one), wanted):
            pass


# --- tables -------------------------------------------------------------------------------------


def rates(result: Mapping[str, float]) -> str:
    """Win, draw and loss in per cent, and the share of games lost by an illegal move if any."""
    text = " / ".join(f"{100 * result[rate]:.2f}" for rate in ("win", "draw", "loss"))
    return text + (f" (illegal {100 * result['illegal']:.2f})" if result["illegal"] else "")


def figures(content: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    """The exact results of a side in a certificate."""
    return content[f"as_{side.lower()}"]


def distance(content: Mapping[str, Any], side: str) -> str:
    """Wins against random below the most of a player that never loses, in percentage points."""
    found = figures(content, side)
    missing = 100 * (found["limit_vs_random"]["win"] - found["vs_random"]["win"])
    return "0" if abs(missing) < 1e-9 else f"{missing:.2f}"


def beaten(content: Mapping[str, Any]) -> str:
    """What the best response wins against it, with a shortest game; "no" if it is unbeatable."""
    lines = []
    for side in SIDES:
        found = figures(content, side)
        if not found["unbeatable"]:
            game = " ".join(found["losing_line"])
            lines.append(f"as {side}, {100 * found['worst_case_loss']:.2f} %: {game}")
    return "; ".join(lines) if lines else "**no**"


def cost(entry: Entry, content: Mapping[str, Any]) -> tuple[str, str]:
    """The seconds of the training, and its steps and games."""
    training, unit = content["training"], entry.page.Config.STEP
    games = f", {training['games']:,.0f} games" if "games" in training else ""
    return f"{training['seconds']:.1f}", f"{training['steps']:,} {unit}{games}"


def label(entry: Entry) -> str:
    """The name of an entry in the tables."""
    side = getattr(entry.config(0), "side", "both")
    only = "" if side == "both" else f", trained as {side} only"
    return f"{entry.name}{only}{' (weak on purpose)' if entry.weak else ''}"


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def strength(
    contents: Mapping[str, dict[str, Any]],
    costs: Mapping[str, tuple[str, str]],
    labels: Mapping[str, str],
) -> str:
    """Exact results against random, and whether the player can be beaten."""
    headings = [
        "agent",
        "training, s",
        "of",
        "as X: wins / draws / losses, %",
        "as O",
        "wins below the best achievable, X and O",
        "can it be beaten?",
    ]
    rows = [
        [
            labels[name],
            *costs[name],
            *(rates(figures(content, side)["vs_random"]) for side in SIDES),
            f"{distance(content, 'X')}, {distance(content, 'O')}",
            beaten(content),
        ]
        for name, content in contents.items()
    ]
    return table(headings, rows)


def against_perfect_play(contents: Mapping[str, dict[str, Any]], labels: Mapping[str, str]) -> str:
    """Exact results against minimax with random ties, and the shares of optimal moves."""
    headings = [
        "agent",
        "as X: wins / draws / losses, %",
        "as O",
        "optimal moves where it can get to, %",
        "in all 4,520 positions, %",
    ]
    rows = [
        [
            labels[name],
            *(rates(figures(content, side)["vs_minimax"]) for side in SIDES),
            *(
                f"{100 * content['optimal_moves'][where]:.2f}"
                for where in ("reachable", "everywhere")
            ),
        ]
        for name, content in contents.items()
    ]
    return table(headings, rows)


def beside_the_origins(
    contents: Mapping[str, dict[str, Any]], costs: Mapping[str, tuple[str, str]]
) -> str:
    """The agents beside the systems on which they are based."""
    headings = [
        "agent",
        "",
        "training",
        "as X against random: wins / draws / losses, %",
        "as O",
        "can it be beaten?",
    ]
    rows: list[list[str]] = []
    for name, origin in ORIGINS.items():
        if name in contents:
            sides = [rates(figures(contents[name], side)["vs_random"]) for side in SIDES]
            safe = "no" if contents[name]["unbeatable"] else beaten(contents[name])
            rows.append(
                [name, "here", f"{costs[name][0]} s" if costs[name][0] else "none", *sides, safe]
            )
            rows.append(["", origin.system, origin.cost, origin.x, origin.o, origin.beaten])
    return table(headings, rows)


def seeds_table(entries: Sequence[Entry], found: Mapping[str, list[dict[str, Any]]]) -> str:
    """How many seeds reached the goals, and medians over the seeds."""
    headings = [
        "agent",
        "unbeatable",
        "after, s",
        "best achievable",
        "after, s",
        "training, s",
        "wins as X, %",
        "wins as O, %",
        "losses as X",
        "as O",
        "illegal, most",
    ]
    return table(
        headings, [[label(entry), *seed_cells(entry, found[entry.name])] for entry in entries]
    )


def seed_cells(entry: Entry, contents: list[dict[str, Any]]) -> list[str]:
    """The row of one agent in `seeds_table`, from its certificates."""
    cells = []
    side = getattr(entry.config(0), "side", "both")
    for goal in ("unbeatable", "optimal"):
        times = [
            content["training"][f"first_{goal}"]["seconds"]
            for content in contents
            if f"first_{goal}" in content["training"]
        ]
        cells += [
            f"{len(times)} of {len(contents)}",
            f"{statistics.median(times):.1f} (at most {max(times):.1f})" if times else "",
        ]
    cells.append(spread([content["training"]["seconds"] for content in contents], 1))
    for rate in ("win", "loss"):
        for one in SIDES:
            values = [100 * figures(content, one)["vs_random"][rate] for content in contents]
            cells.append(spread(values, 2) if side in ("both", one) else "not trained for")
    illegal = [
        100 * figures(content, one)["vs_random"]["illegal"]
        for content in contents
        for one in SIDES
        if side in ("both", one)
    ]
    return [*cells, f"{max(illegal):.2f}"]


def spread(values: list[float], digits: int) -> str:
    """The median, followed by the smallest and the largest value if these differ."""
    low, middle, high = (
        f"{value:.{digits}f}" for value in (min(values), statistics.median(values), max(values))
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def cross(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """All players as X against all players as O."""
    names = list(results)
    headings = ["X \\ O", *names]
    return table(
        headings,
        [
            [
                x,
                *(
                    "/".join(f"{100 * results[x][o][rate]:.0f}" for rate in ("win", "draw", "loss"))
                    for o in names
                ),
            ]
            for x in names
        ],
    )


# --- the document -------------------------------------------------------------------------------


@dataclass
class Player:
    """A row of the tables. cost: the seconds and the steps of its training."""

    certificate: dict[str, Any]
    cost: tuple[str, str]
    label: str
    table: TabularPolicy


def players_of(entries: Sequence[Entry], ready: Mapping[str, str]) -> dict[str, Player]:
    """The trained entries with seed 0, and the players that need no training, by name."""
    rules, players = Rules(), {}
    for entry in entries:
        content = trained(entry, 0)
        players[entry.name] = Player(content, cost(entry, content), label(entry), table_of(content))
    for name, spec in ready.items():
        table = tabulate(make_opponent(spec, rules), rules)
        players[name] = Player(certify(table, spec, rules), ("", "nothing"), name, table)
    return players


def document(entries: Sequence[Entry], ready: Mapping[str, str], seeds: int, out: Path) -> str:
    """The text of docs/RESULTS.md; writes the picture beside `out`."""
    players = players_of(entries, ready)
    contents = {name: player.certificate for name, player in players.items()}
    costs = {name: player.cost for name, player in players.items()}
    labels = {name: player.label for name, player in players.items()}
    results = cross_table({name: player.table for name, player in players.items()})
    heat_map(results, out.with_name(PICTURE))
    how = f' (with `ARGS="--seeds {seeds}"`)' if seeds > 1 else ""
    commands = ", ".join(f"`{entry.command}`" for entry in entries)
    parts = [
        INTRODUCTION.format(how=how, machine=machine()),
        "## Strength",
        STRENGTH,
        strength(contents, costs, labels),
        f"Trained by {commands}.",
        "## Against perfect play",
        PERFECT_PLAY,
        against_perfect_play(contents, labels),
        "## Beside the systems they are based on",
        BESIDE,
        beside_the_origins(contents, costs),
        "## All against all",
        f"![All players as X against all players as O]({PICTURE})",
        "Rows play X, columns O: X wins / draws / O wins, %.",
        cross(results),
    ]
    if seeds > 1:
        learners = [entry for entry in entries if not entry.weak]
        found = {entry.name: [trained(entry, seed) for seed in range(seeds)] for entry in learners}
        parts += [
            f"## {seeds} seeds",
            SEEDS.format(last=seeds - 1),
            seeds_table(learners, found),
        ]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """# Results

`make results`{how} writes this page. All results are exact: every possible game is followed. Only
the seconds are measured. {machine}
One thread, on a machine with other work; seed 0 unless another is given. For speeds see
[BENCHMARKS.md](BENCHMARKS.md).

The best possible result against perfect play is a draw. Against uniformly random play, a player
that never loses wins at most 191/192 = 99.48 % of its games as X and 866/945 = 91.64 % as O. These
are the best achievable results below. A player that wins more than that as O can be beaten."""
STRENGTH = """Results against uniformly random play. If a player can be beaten, the last column
gives the share of games that the best response wins, and a shortest such game."""
PERFECT_PLAY = """Results against minimax with uniformly random ties. A move is optimal if it keeps
the value that the position has with perfect play."""
BESIDE = """The results of the other systems were measured by running them, or a port where a run
takes hours. Several runs give a range or a mean."""
SEEDS = """Seeds 0 to {last}: how many were proven unbeatable, and to have the best achievable
results on both sides, at some evaluation of the training (an agent that is trained as one side:
on that side); the median of the seconds until then; and medians, with ranges, of the best
checkpoint's results against random. A training that ends at a goal (see the commands above) is
not continued beyond it."""


def machine() -> str:
    """The machine and the versions with which the seconds were measured."""
    used = ", ".join(
        f"{name} {version}" for name, version in versions().items() if name != "python"
    )
    return (
        f"Measured on {platform.system()} with {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {used}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=1, help="number of seeds, from 0 on (default: 1)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "docs" / "RESULTS.md",
        metavar="FILE",
        help="(default: docs/RESULTS.md)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time (default: 1)")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[entry.name for entry in ENTRIES],
        help="train only these, and write no document",
    )
    given = parser.parse_args()
    os.chdir(ROOT)
    train_all(
        [entry for entry in ENTRIES if given.only is None or entry.name in given.only],
        given.seeds,
        given.jobs,
    )
    if given.only:
        return
    text = document(ENTRIES, READY, given.seeds, given.out)
    write_file(given.out, lambda file: file.write(text.encode()))
    print(f"{given.out} and {given.out.with_name(PICTURE)}")


if __name__ == "__main__":
    main()
