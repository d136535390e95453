"""Every agent, exactly: trains or loads them all and writes docs/RESULTS.md and its picture: `make results`.

A run that lies in runs/results with the same configuration is loaded, any other is trained, each in a process of its own.
Seconds are of training, exact judgements included, imports not. `--seeds 10` adds the medians of ten seeds of everything
that learns, and `--jobs 2` trains two at a time.
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
from tictactoe_env.opponents import make_opponent
from tictactoe_env.policy import TabularPolicy, tabulate
from tictactoe_env.rules import Rules
from training.files import write_file
from training.options import Preset
from training.plots import heat_map

ROOT = Path(__file__).parent.parent
RUNS = Path("runs") / "results"
PICTURE = "cross_table.png"
SIDES = ("X", "O")


@dataclass(frozen=True)
class Entry:
    """What is trained: an agent, its preset, and the goal at which training ends (train.py --until)."""

    agent: str
    preset: str | None = None
    until: str = "steps"

    @property
    def name(self) -> str:
        """Agent and preset."""
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
        """The configuration that it is trained with."""
        return self.page.Config(
            **{**(self.page.PRESETS[self.preset].options if self.preset else {}), "seed": seed}
        )

    @property
    def command(self) -> str:
        """What trains it by hand."""
        preset = f" --preset {self.preset}" if self.preset else ""
        return f"train.py {self.agent}{preset}" + (
            "" if self.until == "steps" else f" --until {self.until}"
        )


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
    """What a system reached that an agent comes from: exact against random, in per cent, from running it or a port of it."""

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


# --- training ----------------------------------------------------------------------------------------------------------


def trained(entry: Entry, seed: int) -> dict[str, Any]:
    """The certificate of a run: loaded if it is there with this configuration, else trained."""
    folder = RUNS / f"{entry.name}-{seed}"
    config = json.loads(json.dumps(asdict(entry.config(seed))))
    if (folder / FILE).exists() and json.loads((folder / "config.json").read_text())[
        "config"
    ] == config:
        return dict(read(folder))
    shutil.rmtree(folder, ignore_errors=True)
    preset = ["--preset", entry.preset] if entry.preset else []
    command = [
        sys.executable,
        "train.py",
        entry.agent,
        *preset,
        "--seed",
        str(seed),
        "--until",
        entry.until,
        "--out",
        str(folder),
    ]
    began = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    print(
        f"{entry.name}, seed {seed}: {time.perf_counter() - began:.1f} s in all",
        file=sys.stderr,
        flush=True,
    )
    if not (folder / FILE).exists():
        raise ValueError(
            f"{' '.join(command[1:])} failed: {done.stderr.strip() or done.stdout.strip()[-500:]}"
        )
    return dict(read(folder))


def train_all(entries: Sequence[Entry], seeds: int, jobs: int) -> None:
    """Train what is not there yet: seed 0 of everything, and the other seeds of what learns, several at a time."""
    wanted = [
        (entry, seed) for seed in range(seeds) for entry in entries if seed == 0 or not entry.weak
    ]
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda one: trained(*one), wanted):
            pass


# --- tables ------------------------------------------------------------------------------------------------------------


def rates(result: Mapping[str, float]) -> str:
    """Win, draw and loss in per cent, and illegal moves where there are any."""
    text = " / ".join(f"{100 * result[rate]:.2f}" for rate in ("win", "draw", "loss"))
    return text + (f" (illegal {100 * result['illegal']:.2f})" if result["illegal"] else "")


def figures(content: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    """What a certificate says of a side."""
    return content[f"as_{side.lower()}"]


def distance(content: Mapping[str, Any], side: str) -> str:
    """How far its wins against random are below the most that a player which never loses can have, in percentage points."""
    found = figures(content, side)
    missing = 100 * (found["limit_vs_random"]["win"] - found["vs_random"]["win"])
    return "0" if abs(missing) < 1e-9 else f"{missing:.2f}"


def beaten(content: Mapping[str, Any]) -> str:
    """By which games it can be beaten."""
    lines = [
        f"as {side}, {100 * figures(content, side)['worst_case_loss']:.2f} %: {' '.join(figures(content, side)['losing_line'])}"
        for side in SIDES
        if not figures(content, side)["unbeatable"]
    ]
    return "; ".join(lines) if lines else "**no**"


def cost(entry: Entry, content: Mapping[str, Any]) -> tuple[str, str]:
    """Seconds of the training, and what it was made of."""
    training, unit = content["training"], entry.page.Config.STEP
    games = f", {training['games']:,.0f} games" if "games" in training else ""
    return f"{training['seconds']:.1f}", f"{training['steps']:,} {unit}{games}"


def label(entry: Entry) -> str:
    """The name in a table."""
    side = getattr(entry.config(0), "side", "both")
    return f"{entry.name}{'' if side == 'both' else f', trained as {side} only'}{' (weak on purpose)' if entry.weak else ''}"


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def strength(
    contents: Mapping[str, dict[str, Any]],
    costs: Mapping[str, tuple[str, str]],
    labels: Mapping[str, str],
) -> str:
    """Results against random and whether it can be beaten."""
    headings = [
        "agent",
        "training, s",
        "of",
        "as X: wins / draws / losses, %",
        "as O",
        "to the limits, X and O",
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
    """Results against perfect play with random ties, and the share of optimal moves."""
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
    """What the systems reached that the agents come from."""
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
    """Medians over the seeds."""
    headings = [
        "agent",
        "unbeatable",
        "after, s",
        "at both limits",
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
    """Of one agent: how many seeds reached what and when, medians and ranges."""
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
    """The median, and the smallest and largest value where these differ from it."""
    low, middle, high = (
        f"{value:.{digits}f}" for value in (min(values), statistics.median(values), max(values))
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def cross(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Everyone as X against everyone as O."""
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


# --- the document ------------------------------------------------------------------------------------------------------


def document(entries: Sequence[Entry], ready: Mapping[str, str], seeds: int, out: Path) -> str:
    """The whole of docs/RESULTS.md; draws the picture beside it."""
    rules = Rules()
    contents: dict[str, dict[str, Any]] = {}
    costs: dict[str, tuple[str, str]] = {}
    labels: dict[str, str] = {}
    players: dict[str, TabularPolicy] = {}
    for entry in entries:
        content = trained(entry, 0)
        contents[entry.name], costs[entry.name], labels[entry.name] = (
            content,
            cost(entry, content),
            label(entry),
        )
        players[entry.name] = table_of(content)
    for name, spec in ready.items():
        players[name] = tabulate(make_opponent(spec, rules), rules)
        contents[name], costs[name], labels[name] = (
            certify(players[name], spec, rules),
            ("", "nothing"),
            name,
        )
    results = cross_table(players)
    heat_map(results, out.with_name(PICTURE))
    how = f' (with `ARGS="--seeds {seeds}"`)' if seeds > 1 else ""
    parts = [
        "# Results",
        f"`make results`{how} writes this page. Everything on it is exact, except seconds: every line of play is followed.\n"
        f"{machine()}\nOne thread, on a machine with other work; seed 0 unless it says otherwise. Speeds: [BENCHMARKS.md](BENCHMARKS.md).",
        "A draw is the best there is against perfect play. Against uniformly random play the most that a player which never loses can have is\n"
        "191/192 = 99.48 % wins as X and 866/945 = 91.64 % as O: the limits. Who wins more than that as O can be beaten.",
        "## Strength",
        "Against uniformly random play. The share of games that the best opponent wins, and a shortest such game, are given where there is one.",
        strength(contents, costs, labels),
        f"Trained by {', '.join(f'`{entry.command}`' for entry in entries)}.",
        "## Against perfect play",
        "Against minimax with uniformly random ties. A move is optimal if it keeps the value that the position has with perfect play.",
        against_perfect_play(contents, labels),
        "## Beside the systems they come from",
        "The figures of the other systems were measured by running them, or a port where a run takes hours; several runs give a range or a mean.",
        beside_the_origins(contents, costs),
        "## Everyone against everyone",
        f"![Everyone as X against everyone as O]({PICTURE})",
        "Rows play X, columns O: X wins / draws / O wins, %.",
        cross(results),
    ]
    if seeds > 1:
        learners = [entry for entry in entries if not entry.weak]
        found = {entry.name: [trained(entry, seed) for seed in range(seeds)] for entry in learners}
        parts += [
            f"## {seeds} seeds",
            f"Seeds 0 to {seeds - 1}: how many were proven unbeatable and at both limits at some time of the training (of those that play\n"
            "one side: on that side), the median of the seconds until then, and medians with the range of what the best checkpoint has\n"
            "against random. What ends at a goal (see the commands above) is not trained beyond it.",
            seeds_table(learners, found),
        ]
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """What the seconds were measured on."""
    used = ", ".join(
        f"{name} {version}" for name, version in versions().items() if name != "python"
    )
    return f"Measured on {platform.system()} with {os.cpu_count()} cores, Python {platform.python_version()}, {used}."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seeds", type=int, default=1, help="of everything that learns, from 0 on (default: 1)"
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
        help="only train these, and write nothing",
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
