"""Programs in the structure of CleanRL's, with masks, learn on many games."""

import pytest


@pytest.mark.parametrize(
    ("program", "steps"), [("cleanrl_ppo.py", 60_000), ("cleanrl_dqn.py", 20_000)]
)
def test_the_program_learns_and_prints_its_exact_results(run_example, rates_of, program, steps):
    """An untrained network wins 70 to 80 % of its games as X against random play, half as O."""
    rates = rates_of(run_example(program, steps))
    assert rates["X"][0] > 90
    assert rates["O"][0] > 60
