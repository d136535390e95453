"""Fuzzing: `make fuzz SECONDS=3600 SEED=7` draws cases until the time is over, in turns."""

import sys
import time
from collections import Counter

import hypothesis.core
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "fuzz",
    settings.get_profile("default"),  # other examples in each run, of which failures are kept
    max_examples=20,
    phases=[Phase.reuse, Phase.generate, Phase.shrink],
    stateful_step_count=40,
    deadline=None,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz")


def pytest_addoption(parser):
    parser.addoption("--seconds", type=float, help="draw other cases until this time is over")
    parser.addoption("--seed", type=int, default=0, help="of the cases that are drawn")


def pytest_runtestloop(session):
    """Run the test that has taken the least time so far, and so on until the end.

    Each time it has another seed. A test that has found something is not run again.
    """
    seconds = session.config.option.seconds
    seed = session.config.option.seed
    if seconds is None or session.config.option.collectonly or session.testsfailed:
        return None  # as pytest does it
    end = time.monotonic() + seconds
    spent = Counter()
    rounds = Counter()
    items = session.items
    while items and time.monotonic() < end:
        item = min(items, key=lambda one: spent[one])
        began = time.monotonic()
        failed = session.testsfailed
        number = 1_000_000 * seed + rounds[item]
        hypothesis.core.global_force_seed = number
        item.ihook.pytest_runtest_protocol(item=item, nextitem=session)
        spent[item] += time.monotonic() - began
        rounds[item] += 1
        if session.testsfailed > failed:
            items.remove(item)
            again = f"{sys.executable} -m pytest '{item.nodeid}' --hypothesis-seed={number}"
            print(f"\nrepeat it with: {again}")
    for item in rounds:
        print(f"\n{rounds[item]:6} rounds, {spent[item]:7.1f} s  {item.nodeid}", end="")
    return True
