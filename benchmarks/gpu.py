"""On a GPU: checks every example, then times the GEMM against cuBLAS and Triton, and attention against PyTorch's,
FlashAttention's and Triton's. Without a GPU it says so and exits.

python -m benchmarks.gpu [--only examples,gemm,attention] [--sizes 1024,2048,4096,8192] [--types f16,bf16] [--lengths
1024,2048,4096,8192,16384] [--widths 64,128] [--repeat 20] [--image cubin|ptx] [--json OUT.json]

Needs cuda-bindings; cuBLAS is reached through PyTorch and Triton comes with it, each if installed. All are timed in the
same way: events around one launch, a buffer larger than the L2 cache overwritten before each, the median of the
launches without outliers (`tilesat.tuning.steady`). Attention is benchmarks/attention.py. In the GEMM ours and Triton's
compute D = A Bᵀ + C with C and D in f32; cuBLAS computes A Bᵀ in the operands' type, which
reads and writes less.
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import tilesat
from benchmarks import attention
from lowering.targets import ALL_TARGETS
from runtime.cuda import Device, DeviceArray, NoDeviceError, run
from runtime.ptxas import PtxasNotFoundError, assemble
from tilesat.execution import check_arguments, largest_error
from tilesat.tuning import steady

ROOT = Path(__file__).resolve().parent.parent
GEMM = ROOT / "examples" / "gemm.mlir"
TILE = 128
PARTS = ("examples", "gemm", "attention")
COLD_BYTES = 256 << 20
"""More than the L2 cache of any card so far: 50 MB on H100 and H200, 126 MB on B200 (NVIDIA data sheets)."""
SAMPLED_ROWS = 64
"""Rows of D compared with NumPy: all columns of some rows see every tile column and a share of the tile rows."""
TOLERANCE = 2e-3
"""f16 and bf16 products are exact in f32; sums over k <= 8192 in another order (see tests/tilesat/example_cases.py)."""
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


def found_device() -> Device | None:
    """This machine's GPU; None, and a line that says so, if nothing can be measured."""
    try:
        return Device()
    except NoDeviceError as error:
        print(f"nothing was measured: {error}")
        return None


def main() -> int:
    arguments = _arguments()
    device = found_device()
    if device is None:
        return 0
    with device:
        target = best_target(device.architecture)
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        print(f"{device.name}, {device.architecture}, {device.multiprocessors} SMs; {target}; {today}")
        found = measured(device, target, arguments)
        if arguments.json is not None:
            arguments.json.write_text(json.dumps({"device": device.name, "target": target, **found}, indent=2) + "\n")
    bad = found["wrong"] or any(row["error"] > TOLERANCE for row in found["gemm"])
    return 1 if bad or attention.wrong(found["attention"]) else 0


def measured(device: Device, target: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Examples that are wrong, rows of the GEMM, and of attention; empty for what `--only` leaves out."""
    found: dict[str, Any] = {"wrong": [], "gemm": [], "attention": {"rows": [], "left_out": {}}}
    if "examples" in arguments.only:
        checks = examples(device, target, arguments.image)
        found["wrong"] = [name for name, error, tolerance in checks if not error <= tolerance]
    cold = device.empty((COLD_BYTES,), np.uint8)

    def spent(work: Callable[[], object]) -> float:
        return statistics.median(steady(device.time(work, arguments.repeat, cold=cold)))

    if "gemm" in arguments.only:
        found["gemm"] = list(gemms(device, target, arguments, spent))
    if "attention" in arguments.only:
        ours = attention.Ours(
            device, target, lambda kernel: device.load(image(kernel, arguments.image), kernel.manifest)
        )
        found["attention"] = attention.attentions(ours, lambda work: spent(work.launch), arguments)
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="examples, GEMM and attention on this machine's GPU")
    parser.add_argument("--only", default=PARTS, type=parts, metavar="PART[,PART]", help=", ".join(PARTS))
    parser.add_argument("--sizes", default="1024,2048,4096,8192", metavar="N[,N...]", help="m = n = k")
    parser.add_argument("--types", default="f16,bf16", metavar="T[,T]")
    parser.add_argument(
        "--lengths", default="1024,2048,4096,8192,16384", type=numbers, metavar="N[,N]", help="of attention"
    )
    parser.add_argument("--widths", default="64,128", type=numbers, metavar="N[,N]", help="of heads")
    parser.add_argument("--tokens", default=16384, type=int, help="batches times length")
    parser.add_argument("--hidden", default=2048, type=int, help="heads times width")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--image", choices=("cubin", "ptx"), default="cubin", help="assembled here or by the driver")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def parts(text: str) -> list[str]:
    """Names of `PARTS`. Raises ArgumentTypeError for another one."""
    for name in (named := text.split(",")):
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"expected some of {', '.join(PARTS)}, got {name!r}")
    return named


def numbers(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(each) for each in text.split(",")]


def best_target(architecture: str) -> str:
    """The target for the card, otherwise the one whose PTX runs on every later card."""
    own = [name for name in (f"{architecture}a", architecture) if name in ALL_TARGETS]
    return own[0] if own else "sm_80"


def image(kernel: tilesat.Kernel, kind: str) -> bytes | str:
    """The image that is loaded: ptxas's cubin if requested and installed, otherwise the PTX."""
    if kind == "cubin":
        try:
            return assemble(kernel.ptx, kernel.target).binary
        except PtxasNotFoundError as error:
            print(f"the driver assembles the PTX: {error}", file=sys.stderr)
    return kernel.ptx


def examples(device: Device, target: str, kind: str) -> Iterator[tuple[str, float, float]]:
    """(name, largest error, tolerance) of every example and shape, printed as they come."""
    from tests.tilesat.example_cases import SWEEP

    for name, make in SWEEP.items():
        case = make()
        kernel = tilesat.compile(case.source, target)
        arguments = check_arguments(kernel.entry, case.fresh())
        x, y, z = (*case.grid, 1, 1)[:3]
        run(image(kernel, kind), kernel.manifest, (x, y, z), arguments, device)
        error = largest_error(case.logical(list(arguments)), case.expected)
        if not case.outside_untouched(list(arguments)):
            error = np.inf
        print(f"{'ok   ' if error <= case.tolerance else 'WRONG'} {name}: {error:.3g} (tolerance {case.tolerance:g})")
        yield name, error, case.tolerance


def gemms(
    device: Device, target: str, arguments: argparse.Namespace, spent: Callable[[Callable[[], object]], float]
) -> Iterator[dict[str, Any]]:
    """One row per type and size: our error, and the median milliseconds of each installed competitor."""
    print("\n| type | m = n = k | who | ms | TFLOP/s | of cuBLAS | error |\n|---|---|---|---|---|---|---|")
    for dtype in arguments.types.split(","):
        kernel = tilesat.compile(gemm_source(dtype), target)
        loaded = device.load(image(kernel, arguments.image), kernel.manifest)
        for size in map(int, arguments.sizes.split(",")):
            a, b, c = operands(size, TYPES[dtype])
            held = [device.put(each) for each in (a, b, c)] + [device.empty(c.shape, c.dtype)]
            grid = (-(-size // TILE), -(-size // TILE), 1)
            launch = loaded.prepare(grid, [*held, *[np.int32(size)] * 7])
            error = sampled_error(device, held[3], a, b, c, launch)
            works = {"tilesat": launch, **peers(a, b, c)}
            row = {
                "type": dtype, "size": size, "error": error, "ms": {who: spent(work) for who, work in works.items()},
            }  # fmt: skip
            print_row(row)
            yield row
            for each in held:
                device.free(each)


def gemm_source(dtype: str) -> str:
    """The example's text, its operands in another 16-bit type."""
    text = GEMM.read_text()
    return text.replace("ptr<f16>", f"ptr<{dtype}>").replace("xf16", f"x{dtype}")


def operands(size: int, dtype: np.dtype[Any]) -> tuple[Any, Any, Any]:
    """A, B in the type, C in f32, random."""
    rng = np.random.default_rng(size)
    a, b, c = (rng.standard_normal((size, size), np.float32) for _ in range(3))
    return a.astype(dtype), b.astype(dtype), c


def sampled_error(device: Device, d: DeviceArray, a: Any, b: Any, c: Any, launch: Callable[[], None]) -> float:
    """Largest error of one launch on some rows, against NumPy in f32, relative beyond the size of a sum's rounding."""
    launch()
    found = device.get(d)
    rows = np.random.default_rng(1).choice(len(a), min(SAMPLED_ROWS, len(a)), replace=False)
    expected = a[rows].astype(np.float32) @ b.astype(np.float32).T + c[rows]
    return largest_error(found[rows], expected)


def peers(a: Any, b: Any, c: Any) -> dict[str, Callable[[], object]]:
    """cuBLAS and Triton on copies of the same operands, if PyTorch and a Triton that can launch are installed."""
    if find_spec("torch") is None:
        return {}
    import torch

    def tensor(array: Any) -> Any:
        if array.dtype == TYPES["bf16"]:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).cuda()
        return torch.from_numpy(array).cuda()

    x, y, z = map(tensor, (a, b, c))
    works: dict[str, Callable[[], object]] = {"cuBLAS": lambda: torch.matmul(x, y.T)}
    if find_spec("triton") is not None:
        from benchmarks.triton_gemm import launch

        out = torch.empty_like(z)
        variants = ("pointers", "descriptors") if torch.cuda.get_device_capability() >= (9, 0) else ("pointers",)
        works |= {f"Triton, {v}": lambda v=v: launch(v, x, y, z, out) for v in variants}
    return works


def print_row(row: dict[str, Any]) -> None:
    """One line per competitor."""
    for who, spent in row["ms"].items():
        rate = 2 * row["size"] ** 3 / spent / 1e9
        share = f"{row['ms']['cuBLAS'] / spent:.2f}" if "cuBLAS" in row["ms"] else "-"
        error = f"{row['error']:.2g}" if who == "tilesat" else ""
        print(f"| {row['type']} | {row['size']} | {who} | {spent:.4f} | {rate:.1f} | {share} | {error} |")


if __name__ == "__main__":
    sys.exit(main())
