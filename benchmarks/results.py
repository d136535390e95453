"""Exact results of every agent: trains all agents and writes docs/RESULTS.md: `make results`.

Runs in runs/results with the same configuration are loaded; an option that a run does not know yet
counts as its default. All others are trained, as a study trains its seeds: in processes with one
thread, and after a kill from their checkpoints. Seconds are those of training, with exact
evaluations but without imports. `--seeds 10` trains every agent and preset
with ten seeds; `--jobs 2` trains two runs at a time; `--only mcts trie-tophep` trains these and
prints their tables over the seeds.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, run

import agents
from apps.players.about import unit_of
from apps.terminal.report import cross_table
from apps.terminal.study import train_run
from apps.terminal.study_table import spread
from tictactoe_env.certificates.certificate import FILE, certify, read, table_of
from tictactoe_env.certificates.content import Certificate, Rates, sides_of
from tictactoe_env.certificates.stated import package_versions
from tictactoe_env.errors import printable
from tictactoe_env.exact.tables import TabularPolicy, tabulate
from tictactoe_env.files import write_file
from tictactoe_env.notation import SIDES
from tictactoe_env.opponents import make_opponent
from tictactoe_env.rules import Rules
from training.cluster import results
from training.files import MANIFEST, read_json

ROOT = Path(__file__).parent.parent
RUNS = Path("runs") / "results"
PICTURE = "cross_table.png"
NOT_TRAINED = "not trained for"


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
        return self.preset is not None and agents.presets(self.agent)[self.preset].weak

    def config(self, seed: int) -> Any:
        """The configuration of its training."""
        options = agents.presets(self.agent)[self.preset].options if self.preset else {}
        return self.page.Config(**{**options, "seed": seed})

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that it is trained to play."""
        return sides_of(dict(self.config(0)))

    def is_saved_in(self, folder: Path, seed: int) -> bool:
        """Whether a finished run has this configuration; options that are new have their default.

        A new option's default is what was done before it existed. A run is finished when it has its
        manifest, which is written last.
        """
        is_finished = (folder / FILE).exists() and (folder / MANIFEST).exists()
        return is_finished and self.is_begun_in(folder, seed)

    def is_begun_in(self, folder: Path, seed: int) -> bool:
        """Whether a run, finished or not, has this configuration, as `is_saved_in` says."""
        if not (folder / "config.json").exists():
            return False
        saved = read_json(folder / "config.json")["config"]
        default, wanted = (
            json.loads(json.dumps(dict(config)))
            for config in (self.page.Config(), self.config(seed))
        )
        return bool({**default, **saved} == wanted)

    @property
    def command(self) -> str:
        """The command line that trains it."""
        preset = f" --preset {self.preset}" if self.preset else ""
        until = "" if self.until == "steps" else f" --until {self.until}"
        return f"train.py {self.agent}{preset}{until}"


ENTRIES = (
    *(Entry(agent, until=agents.facts(agent).get("GOAL", "steps")) for agent in agents.TRAINABLE),
    *(
        Entry(agent, preset)
        for agent in agents.TRAINABLE
        for preset, known in agents.presets(agent).items()
        if "rows" not in known.options
    ),
)
"""Every agent, and every preset for 3x3."""
READY = {
    "search": "search",
    "mcts live, 1,000 playouts a move": "mcts-playouts=1000",
    "minimax, random among equally good moves": "minimax",
    "random": "random",
}


@dataclass(frozen=True)
class Origin:
    """The results of the system on which an agent is based, measured by running it or a port of it.

    entries: the agents and presets beside it. cost: of the training. x, o: exact wins / draws /
    losses against random, in per cent. beaten: whether it can be beaten.
    """

    entries: tuple[str, ...]
    system: str
    cost: str
    x: str
    o: str
    beaten: str


GO = "andrey-matveyev/go-sample-tictactoe"
TICTAC = "nestedsoftware/tictac"
ORIGINS = (
    Origin(
        ("dqn-duel-first",),
        GO,
        "109 to 129 s",
        "90.89 to 97.14 / 0.52 to 1.04 / 2.34 to 8.07",
        NOT_TRAINED,
        "3 of 3 runs",
    ),
    Origin(
        ("dqn-duel-centre",),
        GO,
        "102 to 120 s",
        "96.09 to 97.14 / 0.26 to 1.04 / 1.82 to 3.65",
        NOT_TRAINED,
        "2 of 2 runs",
    ),
    Origin(
        ("dqn-duel-second",),
        GO,
        "100 to 124 s",
        NOT_TRAINED,
        "69.52 to 75.87 / 1.80 to 4.44 / 22.33 to 26.03",
        "2 of 2 runs",
    ),
    Origin(
        ("value_net", "value_net-learnbyplay"),
        "sebastiengilbert73/tutorial_learnbyplay",
        "1.8 h",
        "98.70 to 99.48 / 0.52 to 1.30 / 0",
        "88.04 to 90.16 / 9.84 to 11.96 / 0 to 0.21",
        "1 of 3 runs",
    ),
    Origin(
        ("search",),
        f"{TICTAC}, minimax",
        "none",
        "96.78 / 3.22 / 0 (first: 99.48 / 0.52 / 0)",
        "77.75 / 22.25 / 0 (first: 80.63 / 19.37 / 0)",
        "no",
    ),
    Origin(
        ("tabular_q", "tabular_q-tictac"),
        f"{TICTAC}, Q table",
        "21 to 32 s",
        "83.85 to 97.40, no losses",
        "44.97 to 76.83, no losses",
        "0 of 12 runs",
    ),
    Origin(
        ("mcts", "mcts-tictac"),
        f"{TICTAC}, MCTS",
        "10.5 s",
        "81.51 / 18.49 / 0",
        "62.22 / 37.78 / 0",
        "no; every run is the same",
    ),
    Origin(
        ("tictacnet", "tictacnet-tictac"),
        f"{TICTAC}, neural Q",
        "1.0 to 1.2 h",
        "97.89 / 1.97 / 0.14, mean",
        "79.51 / 20.49 / 0, mean",
        "7 of 20 runs, as X",
    ),
    Origin(
        (
            "neuroevolution",
            "neuroevolution-dimitars-20",
            "neuroevolution-dimitars-100",
            "neuroevolution-dimitars-punished",
            "neuroevolution-dimitars-linear",
        ),
        "the league of blog.dimitars.dev",
        "30 min",
        "22 to 54 wins",
        "1 to 20 wins",
        "by almost anything, most games by its own illegal move",
    ),
    Origin(
        ("trie", "trie-tophep"),
        "tophep/TicTacToe",
        "38 s",
        "cannot play X",
        "37.93 / 38.26 / 23.81",
        "95.83 % of games lost to the best opponent",
    ),
)


# --- training -----------------------------------------------------------------------------------


def folder_of(entry: Entry, seed: int) -> Path:
    """The folder of a run."""
    return RUNS / f"{entry.name}-{seed}"


def train_all(entries: Sequence[Entry], seeds: int, jobs: int = 1) -> dict[str, list[Certificate]]:
    """The certificates of all entries with all seeds, by name; those not there yet are trained.

    Raises ValueError if a training failed, after all others. A run with another configuration is
    removed.
    """
    wanted = [(entry, seed, folder_of(entry, seed)) for seed in range(seeds) for entry in entries]
    calls, failed = [], []
    for entry, seed, folder in wanted:
        if not entry.is_saved_in(folder, seed):
            if not entry.is_begun_in(folder, seed):
                shutil.rmtree(folder, ignore_errors=True)
            about = entry.agent, entry.config(seed), entry.preset, entry.until
            calls.append((folder.absolute(), *about))
    RUNS.mkdir(parents=True, exist_ok=True)
    for number, (_, error) in results(train_run, calls, jobs=jobs):
        text = f"{calls[number][0].name}: {error or 'finished'}"
        print(printable(text), file=sys.stderr, flush=True)
        failed += [text] * bool(error)
    if failed:
        raise ValueError("; ".join(failed))
    found: dict[str, list[Certificate]] = {entry.name: [] for entry in entries}
    for entry, _, folder in wanted:
        found[entry.name].append(read(folder))
    return found


# --- tables -------------------------------------------------------------------------------------


def rates(result: Rates) -> str:
    """Win, draw and loss in per cent, and the share of games lost by an illegal move if any."""
    text = " / ".join(f"{100 * rate:.2f}" for rate in (result.win, result.draw, result.loss))
    return text + (f" (illegal {100 * result.illegal:.2f})" if result.illegal else "")


def distance(content: Certificate, side: str) -> str:
    """Wins against random below the most of a player that never loses, in percentage points."""
    limit, found = content.results[side].limit_vs_random, content.results[side].vs_random
    assert limit is not None, "no side has to lose on 3x3"
    missing = 100 * (limit.win - found.win)
    return "0" if abs(missing) < 1e-9 else f"{missing:.2f}"


def by_side(content: Certificate, text: Callable[[str], str]) -> list[str]:
    """A text for each side; NOT_TRAINED for the side that the run was not trained to play."""
    return [text(side) if side in content.trained else NOT_TRAINED for side in SIDES]


def rates_by_side(content: Certificate, opponent: str) -> list[str]:
    """The rates against an opponent, such as "vs_random", for each side that was trained."""
    return by_side(content, lambda side: rates(getattr(content.results[side], opponent)))


def beaten(content: Certificate) -> str:
    """What the best response wins against it, with a shortest game; "no" if it is unbeatable.

    Of a run that was trained as one side, only that side is said. Of a player that looks moves up
    by sequence, it is the best response to the sequences.
    """
    by_sequence, lines = content.stated.training.get("by_sequence", {}), []
    for side, found in content.trained.items():
        if not found.unbeatable:
            exact = by_sequence.get(f"as_{side.lower()}", vars(found))
            game = " ".join(found.losing_line or ())
            lines.append(f"as {side}, {100 * exact['worst_case_loss']:.2f} %: {game}")
    only = f", as {content.only}" if content.only else ""
    return "; ".join(lines) if lines else f"**no**{only}"


def cost(entry: Entry, content: Certificate) -> tuple[str, str]:
    """The seconds of the training, and its steps and games."""
    training, unit = content.stated.training, unit_of(entry.agent)
    games = f", {training['games']:,.0f} games" if "games" in training else ""
    return f"{training['seconds']:.1f}", f"{training['steps']:,} {unit}{games}"


def label(entry: Entry) -> str:
    """The name of an entry in the tables."""
    only = "" if len(entry.sides) == 2 else f", trained as {entry.sides[0]} only"
    return f"{entry.name}{only}{' (a copy, weaknesses included)' if entry.weak else ''}"


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def strength(
    contents: Mapping[str, Certificate],
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
            *rates_by_side(content, "vs_random"),
            ", ".join(by_side(content, lambda side, of=content: distance(of, side))),
            beaten(content),
        ]
        for name, content in contents.items()
    ]
    return table(headings, rows)


def against_perfect_play(contents: Mapping[str, Certificate], labels: Mapping[str, str]) -> str:
    """Exact results against minimax, and the shares of optimal moves."""
    headings = [
        "agent",
        "as X: wins / draws / losses, %",
        "as O",
        "perfect moves where it can get to, %",
        "in all 4,520 positions, %",
    ]
    rows = [
        [
            labels[name],
            *rates_by_side(content, "vs_minimax"),
            *optimal_moves(content),
        ]
        for name, content in contents.items()
    ]
    return table(headings, rows)


def optimal_moves(content: Certificate) -> list[str]:
    """The shares of optimal moves; they count both sides, so they are left out for one side."""
    shares = content.optimal_moves
    if content.only or shares is None:
        return ["", ""]
    return [f"{100 * share:.2f}" for share in (shares.reachable, shares.everywhere)]


def beside_the_origins(
    contents: Mapping[str, Certificate],
    costs: Mapping[str, tuple[str, str]],
    found: Mapping[str, list[Certificate]],
) -> str:
    """The agents and presets beside the systems on which they are based."""
    headings = [
        "",
        "training",
        "as X against random: wins / draws / losses, %",
        "as O",
        "can it be beaten?",
    ]
    rows: list[list[str]] = []
    for origin in ORIGINS:
        names = [name for name in origin.entries if name in contents]
        for name in names:
            time = f"{costs[name][0]} s" if costs[name][0] else "none"
            sides = rates_by_side(contents[name], "vs_random")
            certificates = found.get(name, [])
            several = f"{beatable(certificates)} of {len(certificates)} seeds"
            safe = several if len(certificates) > 1 else beaten(contents[name])
            rows.append([name, time, *sides, safe])
        if names:
            rows.append([f"*{origin.system}*", origin.cost, origin.x, origin.o, origin.beaten])
    return table(headings, rows)


def beatable(contents: Sequence[Certificate], side: str = "") -> int:
    """How many of these can be beaten as `side`, or as any side that they were trained to play."""
    return sum(
        any(not content.results[one].unbeatable for one in [side] * bool(side) or content.trained)
        for content in contents
    )


def seeds_table(entries: Sequence[Entry], found: Mapping[str, list[Certificate]]) -> str:
    """In how many seeds each can be beaten, and medians and ranges against random."""
    headings = [
        "agent",
        "beatable as X",
        "beatable as O",
        "wins as X, %",
        "losses as X, %",
        "wins as O, %",
        "losses as O, %",
        "illegal, %, most",
    ]
    return table(
        headings, [[label(entry), *seed_cells(entry, found[entry.name])] for entry in entries]
    )


def seed_cells(entry: Entry, contents: Sequence[Certificate]) -> list[str]:
    """The row of one agent in `seeds_table`, from its certificates."""

    def values(side: str, rate: str) -> list[float]:
        return [100 * getattr(content.results[side].vs_random, rate) for content in contents]

    def cell(side: str, text: str) -> str:
        return text if side in entry.sides else NOT_TRAINED

    beaten_in = [cell(side, f"{beatable(contents, side)} of {len(contents)}") for side in SIDES]
    against_random = [
        cell(side, spread(values(side, rate), 2)) for side in SIDES for rate in ("win", "loss")
    ]
    illegal = max(max(values(side, "illegal")) for side in entry.sides)
    return [*beaten_in, *against_random, f"{illegal:.2f}"]


def times_table(entries: Sequence[Entry], found: Mapping[str, list[Certificate]]) -> str:
    """How many seeds reached the goals, and after how many seconds."""
    headings = ["agent", "training, s", "unbeatable", "after, s", "optimal", "after, s"]
    rows = []
    for entry in entries:
        trainings = [content.stated.training for content in found[entry.name]]
        cells = [spread([training["seconds"] for training in trainings], 1)]
        for goal in ("first_unbeatable", "first_optimal"):
            times = [training[goal]["seconds"] for training in trainings if goal in training]
            cells.append(f"{len(times)} of {len(trainings)}")
            cells.append(spread(times, 1) if times else "")
        rows.append([label(entry), *cells])
    return table(headings, rows)


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

    certificate: Certificate
    cost: tuple[str, str]
    label: str
    table: TabularPolicy


def heat_map(results: Mapping[str, Mapping[str, Mapping[str, float]]], path: Path) -> None:
    """All players as X (rows) against all players as O (columns): X's wins minus losses, per cent.

    results: results[x][o] are x's rates of "win", "draw" and "loss" against o.
    """
    from matplotlib.figure import Figure

    names = list(results)
    values = [[100 * (results[x][o]["win"] - results[x][o]["loss"]) for o in names] for x in names]
    size = 3.0 + 0.62 * len(names)
    figure = Figure(figsize=(size + 1.2, size), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="RdBu", vmin=-100, vmax=100)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="as O", ylabel="as X", title="X's wins minus losses, per cent of games, exact")
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            colour = "white" if abs(value) > 60 else "black"
            axes.text(
                column, row, f"{round(value)}", ha="center", va="center", color=colour, fontsize=8
            )
    figure.colorbar(image, ax=axes, shrink=0.7, label="blue: X wins, red: O wins")
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=110))


def players_of(
    entries: Sequence[Entry],
    found: Mapping[str, list[Certificate]],
    ready: Mapping[str, str],
) -> dict[str, Player]:
    """The trained entries with seed 0, and the players that need no training, by name."""
    rules, players = Rules(), {}
    for entry in entries:
        content = found[entry.name][0]
        players[entry.name] = Player(content, cost(entry, content), label(entry), table_of(content))
    for name, spec in ready.items():
        table = tabulate(make_opponent(spec, rules), rules)
        players[name] = Player(certify(table, spec, rules), ("", "nothing"), name, table)
    return players


def over_seeds(
    entries: Sequence[Entry], found: Mapping[str, list[Certificate]], seeds: int
) -> list[str]:
    """The paragraphs on all seeds."""
    several = f"Seeds 0 to {seeds - 1}" if seeds > 1 else "Seed 0"
    return [
        f"## Strength over {seeds} seeds" if seeds > 1 else "## Strength",
        SEEDS.format(seeds=several),
        seeds_table(entries, found),
        "## Time until a proof",
        TIMES,
        times_table(entries, found),
    ]


def document(entries: Sequence[Entry], ready: Mapping[str, str], seeds: int, out: Path) -> str:
    """The text of docs/RESULTS.md; writes the picture beside `out`."""
    found = train_all(entries, seeds)
    players = players_of(entries, found, ready)
    contents = {name: player.certificate for name, player in players.items()}
    costs = {name: player.cost for name, player in players.items()}
    labels = {name: player.label for name, player in players.items()}
    results = cross_table({name: player.table for name, player in players.items()})
    heat_map(results, out.with_name(PICTURE))
    how = f' (with `ARGS="--seeds {seeds}"`)' if seeds > 1 else ""
    commands = ", ".join(f"`{entry.command}`" for entry in entries)
    parts = [
        INTRODUCTION.format(how=how, machine=machine()),
        *over_seeds(entries, found, seeds),
        f"Trained by {commands}.",
        "## Seed 0",
        STRENGTH,
        strength(contents, costs, labels),
        "## Against perfect play",
        PERFECT_PLAY,
        against_perfect_play(contents, labels),
        "## Beside the systems they are based on",
        BESIDE,
        beside_the_origins(contents, costs, found),
        "## All against all",
        f"![All players as X against all players as O]({PICTURE})",
        CROSS,
        cross(results),
    ]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """# Results

`make results`{how} writes this page. All results are exact: every possible game is followed. Only
the seconds are measured. {machine}
One thread, on a machine with other work. For speeds see [BENCHMARKS.md](BENCHMARKS.md).
On Linux and any x86-64 processor with AVX2 the same versions give these figures again:
[Seeds and processors](RUNS.md#seeds-and-processors).

The best possible result against perfect play is a draw. Against uniformly random play, a player
that never loses wins at most 191/192 = 99.48 % of its games as X and 866/945 = 91.64 % as O. These
are the best achievable results below. A player that wins more than that as O can be beaten."""
SEEDS = """{seeds} of every agent and preset: how many of the trained players can be beaten,
whatever the opponent does, and the median of their results against uniformly random play, with the
smallest and the largest in brackets. Every row is of the best checkpoint of each training. Presets
that reproduce a weakness of another system are marked. An agent that was trained as one side is
judged on that side only."""
TIMES = """How many trainings were proven unbeatable, and optimal (the best achievable results),
on both sides, at some evaluation (of an agent that was trained as one side: on that side), and the
median of the seconds until then. A training that ends at a goal (see the commands below) is not
continued beyond it."""
STRENGTH = """The trainings with seed 0, and players that need no training, against uniformly random
play. If a player can be beaten, the last column gives the largest share of games that any
opponent can win, and a shortest such game. The agents of the package are the best of ten seeds, so
two of them are not the players of this table: see [Agents](agents.md)."""
PERFECT_PLAY = """Results against minimax that picks at random among equally good moves, seed 0.
A move is optimal if it keeps the value that the position has with perfect play. These shares count
the moves of both sides, so they are left out for a player that was trained as one side."""
BESIDE = """The rates here are those of seed 0. The results of the other systems, in italics, were
measured by running them, or a port where a run takes hours. Several runs give a range or a mean."""
CROSS = """Rows play X, columns O: X wins / draws / O wins, %. Players that were trained as one side
play the other side here too."""


def machine() -> str:
    """The machine and the versions with which the seconds were measured."""
    used = ", ".join(
        f"{name} {version}" for name, version in package_versions().items() if name != "python"
    )
    return (
        f"Measured on {platform.system()} with {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {used}."
    )


def main(
    *,
    seeds: int = 1,
    jobs: int = 1,
    only: Annotated[list[str], Parameter(consume_multiple=True)] | None = None,
    out: Path = ROOT / "docs" / "RESULTS.md",
) -> None:
    """Train what is missing, and write the document.

    seeds: how many, from 0 on. jobs: trainings at a time. only: train these agents and presets,
    print their tables over the seeds, and write no document.
    """
    os.chdir(ROOT)
    entries = [entry for entry in ENTRIES if not only or entry.name in only]
    found = train_all(entries, seeds, jobs)
    if only:
        print("\n\n".join(over_seeds(entries, found, seeds)))
        return
    text = document(ENTRIES, READY, seeds, out)
    write_file(out, lambda file: file.write(text.encode()))
    print(f"{out} and {out.with_name(PICTURE)}")


if __name__ == "__main__":
    run(main)
