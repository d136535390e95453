"""Kaggle's agents of ConnectX and our players play each other, with the wheel.

`python tests/ecosystem/run.py kaggle` runs it; see examples/README.md.
"""

import re


def test_the_example_plays_in_both_libraries_and_proves_an_agent(run_example):
    printed, rates = run_example("kaggle_connectx.py", 4)
    assert len(re.findall(r"search wins \d of 4 games", printed)) == 2
    assert "can be beaten as X (c4 c3 c2 a4 c1 a3 b4 a2 b3 a1)" in " ".join(printed.split())
    assert rates["X"] == (76.29, 18.74)
