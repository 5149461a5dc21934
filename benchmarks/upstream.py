"""PTX of upstream's back end: a module of `tilesat compile --emit llvm` through MLIR and LLVM, in a separate process,
which a back end ends when it cannot select something.

With `MLIR_OPT=COMMAND`, by that mlir-opt (LLVM 22.1 is Debian's mlir-22-tools); otherwise by the wheel of the extra
mlir.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import types
from importlib.util import find_spec
from typing import Any

from ir.quoting import unescape

WHEEL = "numba_cuda_mlir"
PIPELINE = (
    "builtin.module(convert-nvvm-to-llvm,gpu.module(reconcile-unrealized-casts),gpu-module-to-binary{format=isa})"
)
_ASSEMBLY = re.compile(r'assembly = ("(?:[^"\\]|\\.)*")')
SECONDS = 300
"""Seconds for a kernel. Measured: 0.3 to 3."""


class UpstreamError(RuntimeError):
    """Upstream's message about a module that it rejected."""


def to_ptx(module: str) -> str:
    """The PTX of a module with one kernel. Raises UpstreamError."""
    tool = os.environ.get("MLIR_OPT")
    wheel = [sys.executable, "-m", "benchmarks.upstream"]
    command = [*shlex.split(tool), "-", f"--pass-pipeline={PIPELINE}"] if tool else wheel
    done = subprocess.run(command, input=module, capture_output=True, text=True, timeout=SECONDS, check=False)
    found = _ASSEMBLY.search(done.stdout)
    if done.returncode or found is None:
        raise UpstreamError(f"exit code {done.returncode}: {done.stderr.strip()[:2000]}")
    return unescape(found[1])


def bindings() -> Any:
    """The wheel's package without running its code besides upstream's bindings. Raises UpstreamError without it."""
    spec = find_spec(WHEEL)
    if spec is None:
        raise UpstreamError("the extra mlir is not installed: run make test-mlir")
    if WHEEL not in sys.modules:
        package = types.ModuleType(WHEEL)
        package.__path__ = list(spec.submodule_search_locations or ())
        sys.modules[WHEEL] = package
    return importlib.import_module(f"{WHEEL}._mlir.ir")


def main() -> None:
    """Standard input through the pipeline."""
    ir = bindings()
    passes = importlib.import_module(f"{WHEEL}._mlir.passmanager")
    with ir.Context():
        module = ir.Module.parse(sys.stdin.read())
        passes.PassManager.parse(PIPELINE).run(module.operation)
        print(module)


if __name__ == "__main__":
    main()
