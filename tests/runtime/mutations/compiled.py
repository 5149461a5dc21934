"""Kernels of this compiler that the mutants change, kept as PTX so that the tables of lines stay true.

`python -m tests.runtime.mutations.compiled` makes them again; the table of equivalents must then be gone through.
"""

import gzip
import json
from typing import Any

from tests.programs import test_programs  # declares all programs
from tests.programs.agents import AGENTS
from tests.programs.program import PROGRAMS, Program, random
from tests.runtime.triton_launch import DATA as TRITON

DATA = TRITON.parent / "tilesat"
CHOSEN = {
    "agents-persistent": ("sm_90a",), 
    "cutile-moe_gemm": ("sm_80",),
    "cutile-layer_norm": ("sm_80",), "cutile-matmul_persistent": ("sm_80",), "cutile-matmul-f16": ("sm_90a", "sm_100a"),
    "cutile-attention": ("sm_80",), "cutile-transpose-f16": ("sm_80",), "cutile-quantize": ("sm_90a",),
}  # fmt: skip
"""Program to the targets it is compiled for."""


def program(name: str) -> Program:
    """What a kernel is run on."""
    assert test_programs
    return {**PROGRAMS, **AGENTS}[name.rpartition(".")[0]]


def arguments(name: str) -> list[Any]:
    """Random arguments; the products have more steps than their rings have stages, so that all of these are used."""
    given = program(name).arguments()
    if name.startswith("cutile-matmul-f16"):
        (m, _), (_, n), depth = given[0].shape, given[5].shape, 448
        a, b = random((m, depth), "f16", 1), random((depth, n), "f16", 2)
        given[:10] = [a, m, depth, depth, 1, b, depth, n, n, 1]
    return given


def manifest(name: str) -> dict[str, Any]:
    """The launch manifest of a kernel."""
    return json.loads((DATA / "manifests.json").read_text())[name]


def text(name: str) -> str:
    """The PTX of a kernel."""
    return gzip.decompress((DATA / f"{name}.ptx.gz").read_bytes()).decode()


def main() -> None:
    """Compile all of them."""
    import tilesat

    DATA.mkdir(exist_ok=True)
    manifests: dict[str, Any] = {}
    for name, targets in CHOSEN.items():
        for target in targets:
            kernel = tilesat.compile(program(f"{name}.{target}").source(), target)
            manifests[f"{name}.{target}"] = kernel.manifest
            (DATA / f"{name}.{target}.ptx.gz").write_bytes(gzip.compress(kernel.ptx.encode(), mtime=0))
    (DATA / "manifests.json").write_text(json.dumps(manifests, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
