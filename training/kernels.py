"""The choice of NumPy's and torch's kernels: AVX2, so that a seed gives the same bytes on x86-64.

Both choose their kernels by the instructions of the processor, and with AVX-512 they add in another
order than with AVX2. Importing `training` chooses AVX2 for the process and for all processes that
it starts. The choice is made by environment variables, which a package reads when it is imported: a
package that is imported already keeps its kernels. A variable that is set stays as it is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

KERNELS = {
    "numpy": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4"},
    "torch": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
}
CPUINFO = Path("/proc/cpuinfo")  # of Linux


def choose(cpuinfo: Path = CPUINFO) -> None:
    """Choose the kernels of AVX2 if the processor is known to have them."""
    if not _has_avx2(cpuinfo):
        return
    for package, variables in KERNELS.items():
        if package not in sys.modules:
            for name, value in variables.items():
                os.environ.setdefault(name, value)


def chosen() -> dict[str, str]:
    """The variables that choose kernels, as they are set in this process."""
    names = (name for variables in KERNELS.values() for name in variables)
    return {name: os.environ[name] for name in names if name in os.environ}


def _has_avx2(cpuinfo: Path) -> bool:
    """True if the first processor of a list has AVX2; False if there is no list."""
    try:
        with open(cpuinfo, "rb") as file:
            return b"avx2" in file.read(8_192).split()
    except OSError:
        return False
