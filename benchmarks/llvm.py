"""Our lowering from the nvvm level to PTX against upstream's, by SASS: python -m benchmarks.llvm [--target T,T]
[FILE...]

Kernels go through `--emit llvm` and LLVM's NVPTX back end (`benchmarks.upstream`): needs ptxas, nvdisasm, mlir.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tilesat
from benchmarks.upstream import to_ptx
from runtime.ptxas import Cubin, assemble, disassemble
from tilesat.mca.listing import functions

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TARGETS = ("sm_80", "sm_90a", "sm_120a")
_COMMENT = re.compile(r"//.*")
_LABEL = re.compile(r"\s*(\$\w+):")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+)")
_OPCODE = re.compile(r"(?:[\w$]+:)?\s*[{}]?\s*(?:@!?%?\w+\s+)?(?P<opcode>[a-z]\w*(?:[.:]+\w+)*)")
_DECIDED = re.compile(
    r"(mma|wgmma|cp|bar|barrier|mbarrier|fence|membar|ldmatrix|stmatrix|movmatrix|setmaxnreg|shfl|atom|red|redux|vote|elect"
    r"|call|griddepcontrol|tensormap|prefetch)\b"
)
"""Instructions decided before the nvvm level: tensor, copy, barrier, fence, and warp collectives."""


def opcodes(ptx: str) -> Counter[str]:
    """How often each opcode occurs in a text."""
    parts = (part.strip() for line in ptx.splitlines() for part in _COMMENT.sub("", line).split(";"))
    found = (_OPCODE.match(part) for part in parts)
    return Counter(match["opcode"] for match in found if match)


def decided(ptx: str) -> Counter[str]:
    """Those instructions that LLVM must leave unchanged."""
    return Counter({name: count for name, count in opcodes(ptx).items() if _DECIDED.match(name)})


@dataclass(frozen=True)
class Assembled:
    """SASS instructions, registers a thread and bytes of spills."""

    instructions: int
    registers: int
    spills: int

    @staticmethod
    def of(ptx: str, target: str) -> Assembled:
        """A kernel's PTX by ptxas. Raises PtxasError."""
        made = assemble(ptx, target)
        return Assembled(length(made), made.registers, made.spill_stores)


def length(cubin: Cubin) -> int:
    """Instructions of a kernel; NOP pads the code to a multiple of 128 bytes."""
    return sum(each.family != "NOP" for found in functions(disassemble(cubin)) for each in found.instructions)


def without_unrolling(ptx: str) -> str:
    """The same text with loops that ptxas does not unroll: `.pragma "nounroll"` in the block of each label that is the
    target of a later branch (PTX ISA 8.8, Pragma Strings).
    """
    lines, seen, headers = ptx.splitlines(), dict[str, int](), set[int]()
    for place, line in enumerate(lines):
        if (label := _LABEL.match(line)) is not None:
            seen[label[1]] = place
        headers |= {seen[target] for target in _BRANCH.findall(line) if target in seen}
    return "\n".join(
        f'{line}\n    .pragma "nounroll";' if place in headers else line for place, line in enumerate(lines)
    )


def rows(
    files: Iterable[Path], targets: Iterable[str], prepared: Callable[[str], str]
) -> Iterator[tuple[str, str, Assembled, Assembled]]:
    """Name, target, ours and LLVM's."""
    for file in files:
        for target in targets:
            kernel = tilesat.compile(file, target)
            ours, theirs = prepared(kernel.ptx), prepared(to_ptx(kernel.stages["llvm"]))
            yield file.stem, target, Assembled.of(ours, target), Assembled.of(theirs, target)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llvm", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, default=sorted(EXAMPLES.glob("*.mlir")), help="default: examples"
    )
    parser.add_argument("--target", default=",".join(TARGETS), help="default: %(default)s")
    parser.add_argument(
        "--no-unrolling", action="store_true", help="compare loops as they are written: ptxas unrolls ours more often"
    )
    options = parser.parse_args()
    prepared = without_unrolling if options.no_unrolling else str
    print("| kernel | target | ours: SASS | registers | spills | LLVM: SASS | registers | spills | ours / LLVM |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    longer = 0
    for name, target, ours, theirs in rows(options.files, options.target.split(","), prepared):
        longer += ours.instructions > theirs.instructions
        both = (str(n) for each in (ours, theirs) for n in (each.instructions, each.registers, each.spills))
        ratio = ours.instructions / theirs.instructions
        print(f"| {name} | {target} | {' | '.join(both)} | {ratio:.2f} |", flush=True)
    print(f"\nours is longer in {longer}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
