"""How fast the agents become unbeatable and optimal, seed by seed, judged exactly: `make bench-learning`.

One training a seed: it goes on until it is optimal, and the moment when it was first unbeatable is noted on the way.
The last table leaves the learner alone with frozen copies of itself. Seconds are of training (judging included, imports
not) on one thread; steps are the learner's moves. Other work on the machine makes the seconds longer, not the steps.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from typing import Any

from tictactoe_env.evaluation import Evaluation, evaluate
from tictactoe_env.policy import TabularPolicy
from training.sb3 import TicTacToeVecEnv

NO_STEPS = 1 << 40  # no cap on steps: the seconds decide
GOALS = ("unbeatable", "optimal")
TABLES = ("rate", "pool", "self")


class Stopwatch:
    """A report that notes when each goal was first reached, and stops at one of them or after some seconds."""

    def __init__(self, until: str, limit: float):
        self.until, self.limit, self.began = until, limit, time.perf_counter()
        self.reached: dict[str, tuple[float, int]] = {}
        self.seconds, self.steps = 0.0, 0

    def __call__(self, steps: int, policy: TabularPolicy, save: Any, notes: Any = None) -> bool:
        """Judge; True at the goal or at the limit."""
        figures: Evaluation = evaluate(policy)
        self.seconds, self.steps = time.perf_counter() - self.began, steps
        for goal in GOALS:
            if figures.reached(goal):
                self.reached.setdefault(goal, (self.seconds, steps))
        return figures.reached(self.until) or self.seconds > self.limit


def table(agent: str, until: str, limit: float, seeds: list[int], **options: Any) -> None:
    page = importlib.import_module(f"agents.{agent}")
    goals = GOALS[: GOALS.index(until) + 1]
    told = "".join(f" --{name.replace('_', '-')} {value}" for name, value in options.items())
    print(f"\n`train.py {agent}{told} --until {until}`, at most {limit:.0f} s a seed\n")
    print(
        f"| seed | {' | '.join(f'{goal}, s | steps' for goal in goals)} | steps/s |\n|{' --- |' * (2 * len(goals) + 2)}"
    )
    times: dict[str, list[float]] = {goal: [] for goal in goals}
    for seed in seeds:
        report = Stopwatch(until, limit)
        page.train(page.Config(seed=seed, steps=NO_STEPS, **options), report)
        cells = []
        for goal in goals:
            seconds, steps = report.reached.get(goal, (None, None))
            cells += ["never", ""] if seconds is None else [f"{seconds:.1f}", f"{steps:,}"]
            times[goal] += [] if seconds is None else [seconds]
        print(
            f"| {seed} | {' | '.join(cells)} | {report.steps / report.seconds:,.0f} |", flush=True
        )
    for goal, found in times.items():
        middle = (
            f"median {statistics.median(found):.1f} s, longest {max(found):.1f} s" if found else ""
        )
        print(f"\n{goal}: {len(found)} of {len(seeds)} seeds; {middle}", flush=True)


def training_rate(agent: str, seconds: float = 20.0) -> None:
    """Steps per second of the default configuration, and the share of the time that the environment takes."""
    page = importlib.import_module(f"agents.{agent}")
    spent, step_wait = [0.0], TicTacToeVecEnv.step_wait

    def timed(env: TicTacToeVecEnv) -> Any:
        began = time.perf_counter()
        result = step_wait(env)
        spent[0] += time.perf_counter() - began
        return result

    TicTacToeVecEnv.step_wait = timed  # type: ignore[method-assign]
    report = Stopwatch("steps", seconds)
    page.train(page.Config(steps=NO_STEPS), report)
    TicTacToeVecEnv.step_wait = step_wait  # type: ignore[method-assign]
    rate, share = report.steps / report.seconds, spent[0] / report.seconds
    print(
        f"\n{agent}: {rate:,.0f} steps/s over {report.seconds:.0f} s, {100 * share:.1f} % of the time in the environment"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", nargs="+", default=["maskable_ppo", "dqn"])
    parser.add_argument(
        "--seeds", type=int, default=10, help="how many, from --first-seed on (default: 10)"
    )
    parser.add_argument("--first-seed", type=int, default=0)
    help_tables = (
        "steps per second; learning against the default opponents; against frozen copies alone"
    )
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES, help=help_tables)
    given = parser.parse_args()
    seeds = list(range(given.first_seed, given.first_seed + given.seeds))
    for agent in given.agents:
        if "rate" in given.tables:
            training_rate(agent)
        if "pool" in given.tables:
            table(agent, "optimal", 180, seeds)
        if "self" in given.tables:
            table(agent, "unbeatable", 300, seeds, opponents="self:1")


if __name__ == "__main__":
    main()
