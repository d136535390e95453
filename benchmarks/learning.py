"""How fast the agents become unbeatable and optimal, by exact evaluation: `make bench-learning`.

There is one training for each seed. It lasts until the agent is optimal; the table also says when
it was first unbeatable. In the last table the only opponents are snapshots of the learner. Seconds
are those of the processor, of training on one thread, with evaluations but without imports. Steps
are the learner's moves. Other work on the machine changes the seconds a little, not the steps.
"""

from __future__ import annotations

import statistics
import time
from typing import Annotated, Any, Literal

from cyclopts import Parameter, run

import agents as pages
from tictactoe_env.exact.evaluation import evaluate
from tictactoe_env.sb3 import TicTacToeVecEnv
from training.learner import Learner, evaluations

NO_STEPS = 1 << 40  # steps, more than fit into the seconds
GOALS = ("unbeatable", "optimal")
TABLES = ("rate", "pool", "self")


class Stopwatch:
    """Notes when a learner first reaches each goal; ends at `until` or after `limit` seconds."""

    def __init__(self, until: str, limit: float):
        self.until, self.limit, self.began = until, limit, time.process_time()
        self.reached: dict[str, tuple[float, int]] = {}
        self.seconds, self.steps = 0.0, 0

    def __call__(self, learner: Learner) -> bool:
        """Evaluate; True at the goal or at the limit."""
        results = evaluate(learner.policy())
        self.seconds, self.steps = time.process_time() - self.began, learner.steps
        for goal in GOALS:
            if results.reached(goal):
                self.reached.setdefault(goal, (self.seconds, self.steps))
        return results.reached(self.until) or self.seconds > self.limit


def timed(agent: str, until: str, limit: float, **options: Any) -> Stopwatch:
    """Train a new learner up to a goal, for at most `limit` seconds."""
    page = pages.page(agent)
    config = page.Config(steps=NO_STEPS, **options)
    watch = Stopwatch(until, limit)
    learner = page.begin(config)
    for _ in evaluations(learner, config):
        if watch(learner):
            break
    return watch


def table(agent: str, until: str, limit: float, seeds: list[int], **options: Any) -> None:
    """Print when each seed reached the goals, and the median and maximum of the seconds."""
    goals = GOALS[: GOALS.index(until) + 1]
    told = "".join(f" --{name.replace('_', '-')} {value}" for name, value in options.items())
    print(f"\n`train.py {agent}{told} --until {until}`, at most {limit:.0f} s a seed\n")
    print(f"| seed | {' | '.join(f'{goal}, s | steps' for goal in goals)} | steps/s |")
    print(f"|{' --- |' * (2 * len(goals) + 2)}")
    times: dict[str, list[float]] = {goal: [] for goal in goals}
    for seed in seeds:
        report = timed(agent, until, limit, seed=seed, **options)
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
    """Print the steps per second of the default configuration, and the environment's share."""
    spent, step_wait = [0.0], TicTacToeVecEnv.step_wait

    def watched(env: TicTacToeVecEnv) -> Any:
        began = time.process_time()
        result = step_wait(env)
        spent[0] += time.process_time() - began
        return result

    TicTacToeVecEnv.step_wait = watched  # type: ignore[method-assign]
    report = timed(agent, "steps", seconds)
    TicTacToeVecEnv.step_wait = step_wait  # type: ignore[method-assign]
    rate, share = report.steps / report.seconds, spent[0] / report.seconds
    print(
        f"\n{agent}: {rate:,.0f} steps/s over {report.seconds:.0f} s, "
        f"{100 * share:.1f} % of the time in the environment"
    )


def main(
    *,
    agents: Annotated[list[str], Parameter(consume_multiple=True)] = ("maskable_ppo", "dqn"),
    seeds: int = 10,
    first_seed: int = 0,
    tables: Annotated[list[Literal[TABLES]], Parameter(consume_multiple=True)] = TABLES,
) -> None:
    """Print tables. rate: steps per second; pool: learning against the default opponents.

    self: learning against snapshots alone.
    """
    numbers = list(range(first_seed, first_seed + seeds))
    for agent in agents:
        if "rate" in tables:
            training_rate(agent)
        if "pool" in tables:
            table(agent, "optimal", 180, numbers)
        if "self" in tables:
            table(agent, "unbeatable", 300, numbers, opponents="self:1")


if __name__ == "__main__":
    run(main)
