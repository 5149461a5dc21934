"""Warp-specialised kernels on the simulator: thread-instructions per CPU second, also with hazard tracking, and peak
memory.

Ours are compiled here (attention and grouped products for sm_90a); Triton's is committed; FlashAttention-4's PTX comes
from `benchmarks/schedules/packages.py attention sm_100a 128 full`, run where that package is installed. Every run is a
process of its own, measured after decoding and checked against NumPy. Run as `python -m benchmarks.diverged`.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.simulator import RunOnly
from ptxsim import GlobalMemory, Report, TensorMap
from ptxsim import launch as simulate
from tests.runtime.triton_launch import Described, Launched

Array = np.ndarray[Any, Any]
HALF = np.float16
HEADS, LENGTH, WIDTH = 8, 1024, 128
SIZE = 1024
PROGRAMS = 16
GROUPS = ((384, 256, 512), (256, 384, 320), (512, 128, 768), (200, 320, 448), (640, 256, 256))
TARGET = "sm_90a"
OURS = ("attention", "grouped")
FLASH = "flash_attention_4"
CASES = {
    "attention": f"FMHA 1x{HEADS}x{LENGTH}x{WIDTH} {TARGET}, ours",
    "grouped": f"grouped GEMM {TARGET}, ours",
    "specialised": f"GEMM {SIZE}^3 sm_100, Triton",
    FLASH: f"FlashAttention-4 1x{HEADS}x{LENGTH}x{WIDTH} sm_100a",
}


def compile_ours(folder: Path) -> None:
    """PTX and manifests of our kernels."""
    import tilesat
    from benchmarks.peers import kernels
    from tilesat.cutile_kernels import export

    rows, matrix = "f16[?,?,128]:[?/8,?/8,1]", "f16[?,?/16]:[?/8,1]*"
    signatures = {
        "attention": "; ".join([rows] * 4 + ["f32", "=128", "=64", f"={WIDTH}", "=false"]),
        "grouped": "; ".join([matrix] * 3 + ["=128", "=128", "=64", f"={PROGRAMS}"]),
    }
    for name, signature in signatures.items():
        bytecode = folder / f"{name}.tileirbc"
        bytecode.write_bytes(export(getattr(kernels, name), signature, TARGET))
        kernel = tilesat.compile(bytecode, TARGET)
        (folder / f"{name}.ptx").write_text(kernel.ptx)
        (folder / f"{name}.json").write_text(json.dumps(kernel.manifest))


def softmax_of_products(q: Array, k: Array, v: Array) -> Array:
    """Attention [head, query, width] in float64."""
    score = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    power = np.exp(score - score.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True) @ v.astype(np.float64)


def attention(folder: Path, hazards: bool) -> Report:
    """Ours, heads apart."""
    from tilesat.execution import launch_arguments

    ptx, manifest = (folder / "attention.ptx").read_text(), json.loads((folder / "attention.json").read_text())
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((HEADS, LENGTH, WIDTH)).astype(HALF) for _ in range(3)]
    arrays.append(np.zeros_like(arrays[0]))
    memory = GlobalMemory()
    values: list[Any] = []
    addresses: dict[int, Any] = {}
    for array in arrays:
        addresses[id(array)] = memory.put(array)
        values += [array, *map(np.int32, array.shape), *(np.int32(stride // 2) for stride in array.strides)]
    values.append(np.float32(WIDTH**-0.5))
    report = simulate(
        ptx, (LENGTH // 128, HEADS), manifest["block"], launch_arguments(manifest, values, addresses, memory), memory,
        dynamic_smem=manifest["dynamic_smem"], hazards=hazards, workers=Launched.workers,
    )  # fmt: skip
    found = memory.get(addresses[id(arrays[3])], arrays[3].shape, HALF)
    np.testing.assert_allclose(found, softmax_of_products(*arrays[:3]), atol=3e-3)
    return report


def grouped(folder: Path, hazards: bool) -> Report:
    """Ours: products of lists of matrices by persistent CTAs."""
    ptx, manifest = (folder / "grouped.ptx").read_text(), json.loads((folder / "grouped.json").read_text())
    rng = np.random.default_rng(0)
    memory = GlobalMemory()
    a = [rng.standard_normal((m, k)).astype(HALF) for m, _, k in GROUPS]
    b = [rng.standard_normal((n, k)).astype(HALF) for _, n, k in GROUPS]
    places = [memory.alloc(2 * m * n) for m, n, _ in GROUPS]
    arguments: list[Any] = []
    for rows in ([(memory.put(x), x.shape) for x in a], [(memory.put(x), x.shape) for x in b],
                 [(place, (m, n)) for place, (m, n, _) in zip(places, GROUPS, strict=True)]):  # fmt: skip
        table = np.array([[address, *shape, shape[1], 1] for address, shape in rows], np.int64)
        arguments += [memory.put(table), len(rows)]
    report = simulate(
        ptx, (PROGRAMS,), manifest["block"], arguments, memory, dynamic_smem=manifest["dynamic_smem"], hazards=hazards,
        workers=Launched.workers,
    )  # fmt: skip
    for x, y, place, (m, n, _) in zip(a, b, places, GROUPS, strict=True):
        expected = x.astype(np.float64) @ y.astype(np.float64).T
        np.testing.assert_allclose(memory.get(place, (m, n), HALF), expected, rtol=2e-3, atol=2e-3)
    return report


def specialised(folder: Path, hazards: bool) -> Report:
    """Triton's: a warp of TMA, one of tcgen05.mma, the others the epilogue."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(HALF) for _ in range(2))
    Launched.hazards = hazards
    blocks = Described(a, (128, 64)), Described(b, (128, 64)), Described(np.zeros((SIZE, SIZE), HALF), (128, 128))
    run = Launched("gemm_specialised.sm_100", (SIZE // 128, SIZE // 128), *blocks, SIZE)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_allclose(run[2].astype(np.float32), expected, rtol=2e-3, atol=2e-2)
    return run.report


def divisor(value: int) -> bytes:
    """CUTLASS's FastDivmodDivisor: the divisor, its multiplier, two shifts."""
    bits = (value - 1).bit_length()
    multiplier = ((1 << 32) * ((1 << bits) - value)) // value + 1
    return np.array([value, multiplier], np.uint32).tobytes() + bytes([min(bits, 1), max(bits - 1, 0), 0, 0])


def free_of_known_hazards(ptx: str) -> str:
    """FlashAttention-4 with a wait after each tcgen05.ld, and without its last expect_tx, for which no bytes arrive.

    It uses what tcgen05.ld loads before tcgen05.wait::ld, which the PTX ISA forbids, and its producer ends by acquiring
    a stage that it does not fill; both are reported and would end the measurement.
    """
    lines: list[str] = []
    for line in ptx.splitlines():
        lines += [line, "tcgen05.wait::ld.sync.aligned;"] if line.strip().startswith("tcgen05.ld.") else [line]
    text = "\n".join(lines) + "\n"
    head, _, tail = text.rpartition("mbarrier.arrive.expect_tx")
    operands, _, rest = tail.partition(";")
    return f"{head}mbarrier.arrive{operands.rpartition(',')[0]};{rest}"


def flash_attention(folder: Path, hazards: bool) -> Report:
    """FlashAttention-4: two CTAs per cluster process 512 queries; arrays are [1, query, head, width]."""
    ptx = (folder / f"{FLASH}.ptx").read_text()
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, LENGTH, HEADS, WIDTH)).astype(HALF) for _ in range(3))
    memory = GlobalMemory()
    addresses = [memory.put(array) for array in (q, k, v, np.zeros_like(q))]
    strides = (2 * HEADS * WIDTH, 2 * WIDTH, 2 * LENGTH * HEADS * WIDTH)
    maps = [
        TensorMap(address, HALF, (WIDTH, LENGTH, HEADS, 1), strides, (64, rows, 1, 1), swizzle="128B")
        for address, rows in zip(addresses, (128, 64, 128, 128), strict=True)
    ]
    shape = np.array([LENGTH, WIDTH, HEADS, 1], np.int32).tobytes()
    blocks = -(-LENGTH // 512)
    arguments = [
        *[shape] * 4, *maps, math.log2(math.e) / math.sqrt(WIDTH), bytes(64), bytes(64), divisor(blocks),
        blocks * HEADS, divisor(HEADS), 0, blocks * HEADS, 0,
    ]  # fmt: skip
    report = simulate(
        free_of_known_hazards(ptx) if hazards else ptx, (2 * blocks * HEADS,), (512,), arguments, memory,
        cluster=(2, 1, 1), dynamic_smem=227 << 10, hazards=hazards, workers=Launched.workers,
    )  # fmt: skip
    heads = [array[0].transpose(1, 0, 2) for array in (q, k, v)]
    found = memory.get(addresses[3], q.shape, HALF)[0].transpose(1, 0, 2)
    np.testing.assert_allclose(found, softmax_of_products(*heads), atol=3e-3)
    return report


RUNS: dict[str, Callable[[Path, bool], Report]] = {
    "attention": attention, "grouped": grouped, "specialised": specialised, FLASH: flash_attention,
}  # fmt: skip


def work(case: str, folder: Path, hazards: bool) -> dict[str, float]:
    """One run: CPU seconds after decoding, thread-instructions, peak memory in MB, including memory in use
    before the run.
    """
    with RunOnly(time.process_time) as timer:
        report = RUNS[case](folder, hazards)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": timer.seconds, "instructions": 32.0 * sum(report.instructions.values()), "peak": peak}


def work_apart(case: str, folder: Path, hazards: bool, workers: int) -> dict[str, float]:
    """One run by several processes: wall seconds after decoding, CPU seconds of all and of this one."""
    Launched.workers = workers
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with RunOnly(time.perf_counter) as wall, RunOnly(time.process_time) as own:
        RUNS[case](folder, hazards)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": wall.seconds, "own": own.seconds, "others": children.ru_utime + children.ru_stime - before}


def measured(case: str, folder: Path, hazards: bool, repeats: int, workers: int = 0) -> dict[str, float] | str:
    """The fastest of several processes, or why it did not run. workers: as `work_apart`, 0: as `work`."""
    end = ["--apart", case, str(folder), str(int(hazards)), str(workers)] if workers else []
    end = end or ["--worker", case, str(folder), str(int(hazards))]
    command = [sys.executable, "-m", "benchmarks.diverged", *end]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    found: list[dict[str, float]] = []
    for _ in range(repeats):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1][:120]
        found.append(json.loads(done.stdout))
    return min(found, key=lambda run: run["seconds"])


def apart(case: str, folder: Path, repeats: int, workers: int) -> str:
    """A line for each for plain and hazards: wall seconds by one process and by several, CPU seconds of those."""
    lines: list[str] = []
    for hazards in (False, True):
        one, several = (measured(case, folder, hazards, repeats, count) for count in (1, workers))
        name = f"{CASES[case]:44s} {'hazards' if hazards else 'plain':8s}"
        if isinstance(one, str) or isinstance(several, str):
            lines.append(f"{name} {one if isinstance(one, str) else several}")
        else:
            lines.append(
                f"{name} {one['seconds']:8.2f} {several['seconds']:8.2f} {several['own']:8.2f} {several['others']:8.2f}"
            )
    return "\n".join(lines)


def row(case: str, folder: Path, repeats: int) -> str:
    """A line of the table."""
    plain, hazards = (measured(case, folder, watched, repeats) for watched in (False, True))
    cells = [f"{CASES[case]:44s}"]
    for run in (plain, hazards):
        if isinstance(run, str):
            cells.append(f"{run:30s}")
        else:
            speed = run["instructions"] / run["seconds"] / 1e6
            cells.append(f"{run['seconds']:8.2f} {speed:8.1f} {run['peak']:8.0f}")
    if not isinstance(plain, str) and not isinstance(hazards, str):
        cells.append(f"{hazards['seconds'] / plain['seconds']:8.1f}")
    return "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description="the simulator on warp-specialised kernels")
    parser.add_argument("--flash-attention", type=Path, metavar="PTX", help="FlashAttention-4's PTX")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes over CTAs, compared with one")
    parser.add_argument("--apart", nargs=4, metavar=("CASE", "FOLDER", "HAZARDS", "WORKERS"), help=argparse.SUPPRESS)
    parser.add_argument("--worker", nargs=3, metavar=("CASE", "FOLDER", "HAZARDS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        case, folder, hazards = arguments.worker
        print(json.dumps(work(case, Path(folder), hazards == "1")))
        return
    if arguments.apart:
        case, folder, hazards, workers = arguments.apart
        print(json.dumps(work_apart(case, Path(folder), hazards == "1", int(workers))))
        return
    cases = [case for case in CASES if arguments.only in case and (case != FLASH or arguments.flash_attention)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if set(cases) & set(OURS):
            compile_ours(folder)
        if arguments.flash_attention:
            (folder / f"{FLASH}.ptx").write_text(arguments.flash_attention.read_text())
        if arguments.workers > 1:
            print(f"{'':53s} {'wall s':>8s} {'by all':>8s} {'CPU own':>8s} {'others':>8s}")
            for case in cases:
                print(apart(case, folder, arguments.repeat, arguments.workers), flush=True)
            return
        print(
            f"{'':44s}  {'CPU s':>8s} {'M thr/s':>8s} {'peak MB':>8s}  {'hazards':>8s} {'M thr/s':>8s} {'peak MB':>8s}",
            end="",
        )
        print(f"  {'ratio':>8s}")
        for case in cases:
            print(row(case, folder, arguments.repeat), flush=True)


if __name__ == "__main__":
    main()
