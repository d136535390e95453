"""The kernels that NumPy and torch compute with are the same on every x86-64 processor."""

import os
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
