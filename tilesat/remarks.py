"""Remarks of the drop-in for tileiras: what was made of each kernel, for people or as YAML that LLVM's tools read.

Kinds, categories and formats are those of tileiras 13.5; the YAML is LLVM's remark format (llvm.org/docs/Remarks.html).
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lowering.symbols import symbol

if TYPE_CHECKING:
    from ir.core import Location
    from runtime.ptxas import Cubin
    from tilesat.kernel import Kernel

KINDS = ("passed", "missed", "failed", "analysis")
CATEGORIES = ("none", "all", "memory", "tensorcore")
FORMATS = ("command-line", "yaml")
DEFAULT_OUTPUT = Path("tileir_remarks.yaml")
PRODUCTS = ("cuda_tile.mmaf", "cuda_tile.mmai", "cuda_tile.mmaf_scaled")
"""Operations that a tensor core could compute."""
_TENSOR_CORE = re.compile(r"^\s*(?:@!?%?\w+\s+)?((?:wgmma\.mma_async|mma\.sync|tcgen05\.mma)[\w.:]*)", re.MULTILINE)
_COPIES = re.compile(r"^\s*(?:@!?%?\w+\s+)?(cp\.async(?:\.bulk\.tensor)?|ldmatrix|stmatrix)\b", re.MULTILINE)


@dataclass(frozen=True)
class Remark:
    """One thing to tell: its kind and category, the entry and its place."""

    kind: str
    category: str
    name: str
    entry: str
    place: Location
    text: str

    def line(self) -> str:
        """As tileiras tells it on the command line."""
        return f'loc("{self.place.file}":{self.place.line}:{self.place.column}): remark: [{self.name}] {self.text}'

    def yaml(self) -> str:
        """As a document of LLVM's remark format."""
        place = f"{{ File: {_quoted(self.place.file)}, Line: {self.place.line}, Column: {self.place.column} }}"
        fields = {"Pass": self.category, "Name": self.name, "DebugLoc": place, "Function": _quoted(self.entry)}
        head = "".join(f"{key + ':':<16} {value}\n" for key, value in fields.items())
        return f"--- !{self.kind.capitalize()}\n{head}Args:\n  - String: {_quoted(self.text)}\n...\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class Wanted:
    """Which remarks are asked for, and where they go."""

    categories: dict[str, str] = field(default_factory=dict[str, str])
    format: str = FORMATS[0]
    output: Path = DEFAULT_OUTPUT

    def choose(self, kinds: Iterable[str], category: str) -> None:
        """Tell remarks of these kinds where they are of the category."""
        self.categories |= dict.fromkeys(kinds, category)

    def tell(self, kernels: Sequence[Kernel], cubin: Cubin) -> None:
        """Write what is asked for. Raises OSError."""
        if not self.categories:
            return
        chosen = [each for kernel in kernels for each in remarks(kernel, cubin) if self._asked(each)]
        if self.format == "yaml":
            self.output.write_text("".join(each.yaml() for each in chosen))
        else:
            for each in chosen:
                print(each.line(), file=sys.stderr)

    def _asked(self, remark: Remark) -> bool:
        return self.categories.get(remark.kind, "none") in ("all", remark.category)


def remarks(kernel: Kernel, cubin: Cubin) -> Iterator[Remark]:
    """What is known of one kernel: resources, spills, copies, tensor-core instructions or that there are none."""
    entry, usage = kernel.entry, cubin.entries.get(symbol(kernel.entry.sym_name))
    name, place = entry.sym_name, entry.location
    if usage is not None:
        shared = usage.smem + int(kernel.manifest.get("dynamic_smem", 0))
        text = f"{usage.registers} registers per thread, {shared} bytes of shared memory per block"
        yield Remark("analysis", "memory", "Resources", name, place, text)
        if usage.spill_stores:
            text = f"{usage.spill_stores} bytes of registers are spilled to local memory"
            yield Remark("missed", "memory", "Spills", name, place, text)
    copies = Counter(_COPIES.findall(kernel.ptx))
    for instruction, count in sorted(copies.items()):
        yield Remark("passed", "memory", "Copies", name, place, f"{count} {instruction}")
    products = Counter(_TENSOR_CORE.findall(kernel.ptx))
    for instruction, count in sorted(products.items()):
        yield Remark("passed", "tensorcore", "TensorCore", name, place, f"{count} {instruction}")
    if not products:
        for op in entry.walk():
            if op.name in PRODUCTS:
                text = f"{op.name} is computed without tensor cores"
                yield Remark("missed", "tensorcore", "TensorCore", name, op.location, text)
