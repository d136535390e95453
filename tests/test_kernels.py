"""The kernels that NumPy and torch compute with are the same on every x86-64 processor."""

import os
import sys

import pytest
from programs import python

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


UP_TO_NUMPY = """import os, sys
class Stop:
    def find_spec(self, name, *more):
        if name == "numpy":
            os._exit(0 if "training" in sys.modules else 1)
sys.meta_path.insert(0, Stop())
__import__(sys.argv[1])
os._exit(2)"""


@pytest.mark.parametrize(
    "module", ["train", "play", "evaluate", "apps.terminal.study", "benchmarks.results"]
)
def test_every_program_that_trains_chooses_them_before_it_imports_numpy(module):
    assert python("-c", UP_TO_NUMPY, module).returncode == 0
