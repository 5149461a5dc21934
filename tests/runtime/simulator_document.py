"""Writes docs/simulator.md from the simulator's tables: python -m tests.runtime.simulator_document [--check].

The number next to an opcode counts its different spellings in the PTX that the tests run or decode.
"""

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ptxsim import link
from ptxsim.families.arithmetic import ByType
from ptxsim.kinds import Kind
from ptxsim.parser import parse
from tests.generated_page import publish
from tests.runtime.mutations.sweep import RESULTS, tables

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "docs" / "simulator.md"
DATA = Path(__file__).parent / "data"
HEAD = """# The PTX simulator

`ptxsim` runs PTX on NumPy. `launch(ptx, grid, block, args, memory, cluster=, dynamic_smem=, entry=,
hazards=, suppress=, max_instructions=, schedule=, workers=, on_one_sm=)` runs an entry and returns a `Report`;
`check(ptx)` only parses and decodes. `Module(ptx, memory)` loads PTX once: `module.launch(grid, block, args, ...)` any
number of times, with variables keeping their values; `module.symbol(name)`, `read` and `write` access them,
`module.kernel(name)` describes an entry as a driver does (parameters and their offsets, maximum threads, shared
bytes), `module.unload()` frees the memory.
`python -m ptxsim FILE.ptx` runs it from a shell: without `--grid` it decodes every entry, with one it runs an entry
on arrays (`--arg 'f32[64]=normal:1'`) and lists hazards.
An unsupported feature is an error with the PTX line and its text; no modifier is ignored. This page is generated:
`python -m tests.runtime.simulator_document`.

Whether an instruction exists on the module's `.target` and `.version` is checked as in ptxas, from minimum versions
declared with each family's opcodes (`FLOORS`); `tests/runtime/test_floors.py` compares them with ptxas 13.5.37 on
every target and version, form by form.

## Instructions

*Forms* counts the different spellings in the committed PTX of the tests (Triton, nvcc, samples).

| opcode | forms | family | what |
|---|---:|---|---|
"""
TAIL = """
## Conventions

- Registers, shared and fresh global memory hold 0xFF bytes until they are written: NaN in every float format.
- Lanes at the same instruction run as one vector. When control flow diverges, the smallest instruction number runs
  first. `schedule="skewed:SEED"` runs each warp alone until it must wait, in an order drawn from the seed: a missing
  barrier between accesses of global memory, which `hazards=True` does not track, then shows in the results.
- CTAs run together as one vector while they have at most 4096 threads in total, or one cluster if that has more; the
  others follow. This bounds memory use, and keeps many lanes active for each warp role.
- `workers=N` runs the grid in up to N processes, each with a range of whole batches on shared global memory, with the
  same results, counts and hazards as one process, merged in grid order. If CTAs may communicate (atomics or strong
  accesses of global memory, `cp.reduce`, `clusterlaunchcontrol`, `malloc`, a cooperative launch) it is an error with
  the line: atomics are not atomic between processes. Without hazards a grid of one batch is split in N; with them the
  batches stay unchanged, because hazards found between CTAs depend on which run together. `max_instructions` counts a
  single process and is an error with workers; `%clock` restarts in each.
- Tensor memory belongs to an SM: `launch(..., on_one_sm=N)` puts N CTAs of a kernel on each, and
  `launch_beside([Beside(ptx, grid, block, args, ...), ...], memory)` runs CTAs of several kernels together, whose
  threads and shared memory must fit. `tcgen05.alloc` waits until another CTA has released the allocation permit and
  enough consecutive columns are free; both CTAs of a pair get the same ones. Addresses then differ from 0. A wait
  that never ends is a deadlock, reported with the holders of columns and of the permit; a CTA that ends with the
  permit while another waits for it is `tensor-allocation`. Cells of other CTAs cannot be accessed, so each CTA keeps
  its own.
- f32 accumulators of `wgmma` reach their registers at the next `wgmma.wait_group` of their lanes; until then the
  registers keep their old contents, which the PTX ISA leaves undefined.
- Atomics on one address execute in lane order.
- `.approx` functions are computed in float64 and rounded, which is within the error that the PTX ISA states; those of
  `lg2`, `sin`, `cos` and `tanh` are as inaccurate as it allows, because code must not rely on more.
- `wmma` fragments use the layout of `mma.sync`, because the PTX ISA leaves theirs open; `report` counts no bank
  conflicts or sectors for `wmma.load` and `wmma.store`.
- Stochastic rounding adds the random bits at the top of the discarded bits; if four sources share 16 random bits,
  both sources of a pair use all of them. The PTX ISA does not specify how a pair shares its bits.
- `%clock` and `%globaltimer` advance with each reading and measure nothing; `%smid` is 0.
- Functions have frames in local memory; recursion and alloca have 16384 bytes of stack per thread.
- `printf` goes to `Report.printed`, one text for each call of each thread, formatted as the C library does.
- `malloc` has 8 MiB in total; its blocks are separate allocations, so that an access outside one or after `free` is
  detected, and they persist across launches. `memcpy`, `memmove`, `memset` and `__assertfail` are also supported.
- `GlobalMemory.multicast(size, replicas)` creates a multicast object, which `multimem` instructions access.
- A launch with `cooperative=True` runs all CTAs concurrently; `%envreg1` and `%envreg2` then hold the address of the
  words with which cooperative groups synchronise a grid, and 0 in other launches.

## Hazards

With `hazards=True` copies and products arrive as late as the memory model allows, and races, missing waits and
fences, uninitialised reads, wrong transaction counts and deadlocks stop the run. With `hazards="report"` the run
continues after the first: `Report.hazards` lists them by PTX line, with a count, the first thread and, if `.loc`
gives it, the source line (`hazard_table` prints them); errors that still end a run (a deadlock, an mbarrier that does
not exist) are raised with the earlier hazards as `error.hazards`. `suppress=` takes kinds (`race`), kinds at a PTX
line (`race:120`) and lines (`120`) that neither stop the run nor count. One fault often shows as several kinds: start
with the first line.

The first result of each `mbarrier.test_wait` and `try_wait` is false, even for a complete phase, so that a wait
without a retry loop orders nothing; the second blocks. `mbarrier.inval` must be ordered after every use of the object
by other threads. Lanes that name members of their warp must be among them, and agree with those they name. Global
memory is tracked for the async proxy only: a copy must come after a fence and a barrier that follow the stores of its
cluster; races between threads there are not detected. Triton 3.9 uses results of `tcgen05.ld` before
`tcgen05.wait::ld` in five of its sm_100 kernels; that is reported, because the PTX ISA forbids it. A `tcgen05.cp` may
overwrite scales that an earlier `tcgen05.mma` of its thread reads: CUTLASS's block-scaled main loops rely on their
order.

If one lane arrives or releases for its warp, this covers its own accesses of shared memory, and those of the other
lanes before the last bar.warp.sync or barrier; ldmatrix and stmatrix are accesses of the whole warp. Between CTAs an
mbarrier orders at `.cluster` scope: an arrival or a wait with explicit `.cta` does not. By the PTX ISA a missing
scope means the CTA; if neither side has a scope it orders anyway, because CUTLASS writes none, but not if the arrival
has one. After `mbarrier.init` either `fence.mbarrier_init` or a barrier that releases is enough, as in Triton, which
has only the barrier. A proxy fence between reads and an overwriting access is required only before
`clusterlaunchcontrol.try_cancel`.

| kind | what |
|---|---|
KINDS

## Mutants

Detection rate: `python -m tests.runtime.mutations.sweep` changes one statement at a time of the kernels below (an
operator at every site, and some handwritten changes) and runs each mutant with `hazards=True`, in step, then with
three skewed seeds. It is caught by a hazard, by another error that names a line, or by its result. An *equivalent* is
a correct program: `tests/runtime/mutations/equivalents.py` names the PTX line that makes it correct. The figures are
of DATE. Not detected are `tcgen05.fence` (Triton never uses it), `membar.gl` between CTAs, and a proxy fence between
reads and a copy over the data read.

MUTANTS

## Not modelled

- Textures, surfaces and samplers (`tex`, `tld4`, `suld`, `sust`, `sured`, `txq`, `suq`, `istypep`).
- The scalar and SIMD video instructions (`vadd`, `vabsdiff4`, ...).
- `fma.oob`, directed rounding of `fma.bf16`, 16-bit carries, `madc.hi.sat`, `cvt` of `.s2f6x2` and with scale factors.
- `%pm0` to `%pm7`, `%envreg` except 1 and 2, `%reserved_smem_offset_*`.
- Constant expressions in operands, vector registers, 32-bit addresses, `.alias`.
- Functions without a body in the module, except those named above.
- Time: caches, memory latency, occupancy and clocks.
"""


def _whats(opcode: str) -> Iterator[tuple[str, str]]:
    """Family and first sentence of a row; of each family where types choose one."""
    decoder = link.TABLE[opcode]
    parts = [decoder.integers, decoder.floats, decoder.packs] if isinstance(decoder, ByType) else [decoder]
    for part in parts:
        if part is not None:
            yield part.__module__.rsplit(".", 1)[-1], _first_sentence(part)


def _texts() -> Iterator[str]:
    for path in sorted(DATA.rglob("*.ptx")):
        yield path.read_text()
    for path in sorted(DATA.rglob("*.ptx.gz")):
        yield gzip.decompress(path.read_bytes()).decode()


def _forms() -> dict[str, set[str]]:
    """Full opcodes in the tests' PTX by the first part of the opcode."""
    found: dict[str, set[str]] = defaultdict(set)
    for text in _texts():
        module = parse(text)
        bodies = [function.body for function in module.functions.values() if function.body is not None]
        for body in (*module.entries.values(), *bodies):
            for instruction in body.instructions:
                found[instruction.base].add(instruction.opcode)
    return found


def _starts(form: str, modifiers: list[str]) -> bool:
    return form.split(".")[1 : 1 + len(modifiers)] == modifiers


def _first_sentence(decoder: Callable[..., object]) -> str:
    text = (decoder.__doc__ or "").strip().split("\n")[0].rstrip(".")
    return text.replace("|", "\\|")


def page() -> str:
    """The page."""
    forms = _forms()
    rows: list[str] = []
    for opcode in sorted(link.TABLE):
        base, *modifiers = opcode.split(".")
        count = sum(_starts(form, modifiers) for form in forms.get(base, set()))
        whats = dict(_whats(opcode))
        families = ", ".join(whats)
        what = "; ".join(dict.fromkeys(whats.values()))
        rows.append(f"| `{opcode}` | {count} | {families} | {what} |")
    unknown = sorted(set(forms) - {opcode.split(".")[0] for opcode in link.TABLE})
    if unknown:
        raise ValueError(f"the tests' PTX has opcodes that the simulator lacks: {unknown}")
    kinds = "\n".join(f"| `{kind.title}` | {kind.meaning} |" for kind in Kind)
    results: dict[str, Any] = json.loads(RESULTS.read_text())
    dates = sorted({each["date"] for each in results.values()})
    filled = {"KINDS": kinds, "DATE": " to ".join(sorted({dates[0], dates[-1]})), "MUTANTS": tables(results)}
    tail = TAIL
    for name, text in filled.items():
        tail = tail.replace(name, text)
    return HEAD + "\n".join(rows) + "\n" + tail


if __name__ == "__main__":
    sys.exit(publish(OUTPUT, page()))
