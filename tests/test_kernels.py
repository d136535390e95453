"""The kernels that NumPy and torch compute with are the same on every x86-64 processor."""

import os
import subprocess
import sys

import pytest

from training import kernels

AVX2 = "flags\t\t: fpu sse4_2 avx avx2 avx512f\n"
OWN = {"MKL_CBWR": "COMPATIBLE"}


@pytest.mark.parametrize(
    ("cpuinfo", "imported", "environment", "expected"),
    [
        (AVX2, "", {}, kernels.KERNELS["numpy"] | kernels.KERNELS["torch"]),
        (AVX2, "", OWN, kernels.KERNELS["numpy"] | kernels.KERNELS["torch"] | OWN),
        (AVX2, "numpy", {}, kernels.KERNELS["torch"]),
        ("flags\t\t: fpu sse4_2 avx\n", "", OWN, OWN),
        (None, "", {}, {}),
    ],
    ids=["none set", "set by the user", "NumPy is imported already", "no AVX2", "no Linux"],
)
def test_the_kernels_of_avx2_are_chosen_unless_they_cannot_or_must_not_be(
    cpuinfo, imported, environment, expected, tmp_path, monkeypatch
):
    if cpuinfo is not None:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr(sys, "modules", {imported: None})
    monkeypatch.setattr(os, "environ", dict(environment))
    kernels.choose(tmp_path / "cpuinfo")
    assert kernels.chosen() == os.environ == expected


def chosen_by(module):
    """The kernels of a new process that has imported a module, where the user has set none."""
    names = {name for variables in kernels.KERNELS.values() for name in variables}
    program = f"import {module}, training.kernels as kernels; print(kernels.chosen())"
    command = [sys.executable, "-c", program]
    env = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "module", ["train", "play", "evaluate", "terminal.job", "benchmarks.learning"]
)
def test_every_program_that_trains_chooses_them_before_it_imports_numpy(module):
    assert chosen_by(module) == chosen_by("training")
