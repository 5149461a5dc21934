"""Cycles and latencies of forms on a GPU, by its clock: chains of n and 2 n operations, whose difference is n of them.

A step of a chain is the operation and the code that keeps its operand in an ordinary range; the time of chains of that
code alone is subtracted. With one element per thread a step takes the latency, with `WIDE` elements the time of its
units.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tilesat
from benchmarks.calibrate.forms import Case
from benchmarks.calibrate.kernels import FORBIDDEN, THREADS
from ir.core import TileError
from ir.dialects import cuda_tile as ct
from ir.types import SCALARS, FloatType
from lowering.cost import Machine
from lowering.targets import ALL_TARGETS
from runtime.cuda import Device
from tilesat.fuzz.writer import Tile, Writer

PATH = Path(__file__).with_name("clocks.json")
STEPS, WIDE, LAUNCHES = 16, 8, 5
NEAR = 2.0**-6
"""The factor applied to a float result before 1 is added: operands stay around 1, which avoids slow paths."""
REGISTERS = "\n    .reg .b64 %clock<3>;\n    .reg .b32 %clock_lane;\n    .reg .pred %clock_first;\n"
BEGIN = "    mov.u64 %clock0, %clock64;\n"
END = """    bar.sync 0;
    mov.u64 %clock1, %clock64;
    sub.u64 %clock1, %clock1, %clock0;
    ld.param.u64 %clock2, [{entry}_param_{parameter}];
    cvta.to.global.u64 %clock2, %clock2;
    mov.u32 %clock_lane, %tid.x;
    setp.eq.u32 %clock_first, %clock_lane, 0;
    @%clock_first st.global.b64 [%clock2], %clock1;
    ret;
"""


class Clocked(NamedTuple):
    """Cycles of one element in each thread of four warps, and from one operation to the next dependent one."""

    cycles: float
    latency: float


def chained(case: Case) -> bool:
    """Whether a form can be chained: its operands have the type of its result."""
    return {*case.operands} == {case.result} and not case.constant and case.operation is not ct.Bitcast


def measure(cases: Iterable[Case], device: Device, target: str) -> Iterator[tuple[Case, Clocked]]:
    """Each form that can be chained and that the target has."""
    mixed: dict[tuple[str, int], float] = {}
    for case in filter(chained, cases):
        kind = case.result
        try:
            steps = [difference(case, width, device, target) for width in (1, WIDE)]
        except TileError as error:
            print(f"{case.form.key} was not measured: {error}")
            continue
        for width in (1, WIDE):
            if (kind, width) not in mixed:
                mixed[kind, width] = difference(case, width, device, target, apply=False)
        latency, wide = (each - mixed[kind, width] for each, width in zip(steps, (1, WIDE), strict=True))
        yield case, Clocked(wide / WIDE, latency)


def difference(case: Case, elements: int, device: Device, target: str, apply: bool = True) -> float:
    """Cycles of a step."""
    short, long = (clock(case, steps, elements, device, target, apply) for steps in (STEPS, 2 * STEPS))
    return (long - short) / STEPS


def clock(case: Case, steps: int, elements: int, device: Device, target: str, apply: bool) -> float:
    """Cycles of a chain from the entry to the exit of a CTA: the median of some launches."""
    text = program(case, steps, elements, apply)
    kernel = tilesat.compile(text, target, forbid=FORBIDDEN)
    data = operands(case.result, len(case.operands) + 1, THREADS * elements)
    held = [device.put(each) for each in data]
    result, clocks = device.empty((THREADS * elements,), data[0].dtype), device.empty((1,), np.int64)
    launch = device.load(with_clock(kernel.ptx, "chain", len(held) + 1), kernel.manifest).prepare(
        (1, 1, 1), [*held, result, clocks]
    )
    found: list[float] = []
    for _ in range(LAUNCHES):
        launch()
        found.append(float(device.get(clocks)[0]))
    for each in (*held, result, clocks):
        device.free(each)
    return statistics.median(found)


def operands(kind: str, count: int, size: int) -> list[np.ndarray[Any, Any]]:
    """Operands around 1; the last two keep a chain there."""
    dtype = ct.dtype_of(SCALARS[kind])
    rng = np.random.default_rng(count)
    if isinstance(SCALARS[kind], FloatType):
        return [*((1 + rng.random(size) / 8).astype(dtype) for _ in range(count - 1)), np.full(size, NEAR, dtype)]
    return [rng.integers(1, 100, size).astype(dtype) for _ in range(count)]


def program(case: Case, steps: int, elements: int, apply: bool) -> str:
    """The source of a chain: x, the other operands, constants to mix in; the result, and a location for the clock."""
    kind, count, total = case.result, len(case.operands) + 1, THREADS * elements
    parameters = {f"x{at}": f"ptr<{kind}>" for at in range(count)}
    w = Writer("chain", **parameters, y=f"ptr<{kind}>", clocks="ptr<i64>")
    w.promise(**dict.fromkeys(w.args, 16))
    x, *others = (w.load(w.view(w.args[each], [total], [1], [total]), 0) for each in parameters)
    for step in range(steps):
        made = w.op(case.operation, x, *others[:-1], **case.attributes) if apply else x
        x = mixed_with(w, made, others[-1], step)
    w.store(x, w.view(w.y, [total], [1], [total]), 0)
    return w.text(THREADS // 32)


def mixed_with(w: Writer, x: Tile, other: Tile, step: int) -> Tile:
    """The code between two operations: a multiply-add to about 1, or an exclusive or and an addition in turn."""
    if x.floating:
        return w.op(ct.Fma, x, other, w.like(1.0, x))
    return x ^ other if step % 2 else x + other


def with_clock(ptx: str, entry: str, parameter: int) -> str:
    """The kernel with its cycles written to where a parameter points. Raises ValueError for a kernel without an
    exit.
    """
    head, brace, body = ptx.partition("\n{\n")
    declared, blank, code = body.partition("\n\n")
    if not (brace and blank) or code.count("    ret;\n") != 1:
        raise ValueError(f"{entry}: expected an entry with one end")
    end = END.format(entry=entry, parameter=parameter)
    return head + brace + declared + REGISTERS + "\n" + BEGIN + code.replace("    ret;\n", end)


def report(found: Sequence[tuple[Case, Clocked]], target: str, source: str) -> None:
    """The measured figures next to the prices, printed and written."""
    machine = Machine(ALL_TARGETS[target], THREADS // 32)
    rows = json.loads(PATH.read_text()) if PATH.exists() else {}
    print("| form | cycles of 128 threads | priced | latency |\n|---|---|---|---|")
    for case, clocked in found:
        priced = machine.elementwise(case.form, WIDE).scalar() / WIDE
        print(f"| {case.form.key} | {clocked.cycles:.2f} | {priced:.2f} | {clocked.latency:.1f} |")
        rows.setdefault(target, {})[case.form.key] = {
            "cycles": round(clocked.cycles, 2), "latency": round(clocked.latency, 1), "source": source,
        }  # fmt: skip
    PATH.write_text(json.dumps(rows, indent=1) + "\n")
