"""Attention on a GPU beside PyTorch's, FlashAttention's and Triton's: benchmarks/gpu.py times it.

Forward, f16 with sums in f32, heads apart; causal and not. Every implementation gets arrays in its own layout, is
checked before it is timed, and is left out, with the reason, where its package is missing, refuses or computes
something else. The sizes are those of FlashAttention's own benchmark: 16384 queries in all, heads of 2048 / width.
Source: FlashAttention-2 (arXiv 2307.08691), section 4.1, as are the operations that count.
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

import tilesat
from benchmarks.peers import cases
from runtime.cuda import Device, DeviceArray, Kernel
from tilesat.execution import largest_error

Array: TypeAlias = "np.ndarray[Any, Any]"
QUERIES = 128
"""Rows of a tile block, of ours and of Triton's."""
KEYS = (64, 128)
"""Keys of a step: both are timed, of ours and of Triton's."""
TOLERANCE = 2e-3
"""Weights and results are rounded to f16, 2^-11 each, results are below 2 (see tests/tilesat/example_cases.py)."""
SAMPLED_ROWS, SAMPLED_HEADS = 64, 2
"""Of the results that are compared: rows spread over the whole length see every key, or their share where causal."""
CHECKED = (1, 2, 200)
"""Batches, heads and length of the check before timing: no multiple of a tile."""


@dataclass(frozen=True)
class Problem:
    """q, k, v [batches * heads, length, width] f16."""

    q: Array
    k: Array
    v: Array
    batches: int
    causal: bool

    @property
    def width(self) -> int:
        """Elements of a head."""
        return self.q.shape[2]

    @property
    def scale(self) -> float:
        """What scores are multiplied by."""
        return 1 / math.sqrt(self.width)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Batches, heads, length and width, as PyTorch has them."""
        return self.batches, len(self.q) // self.batches, *self.q.shape[1:]

    @property
    def flops(self) -> int:
        """Of both products; half of them where causal."""
        heads, length, width = self.q.shape
        return 4 * heads * length * length * width // (2 if self.causal else 1)

    @cached_property
    def sampled(self) -> tuple[Array, Array, Array]:
        """Heads and rows that are compared, and what is expected there, in f32 [heads, rows, width]."""
        heads, length, _ = self.q.shape
        rng = np.random.default_rng(1)
        chosen = rng.choice(heads, min(SAMPLED_HEADS, heads), replace=False)
        rows = np.sort(rng.choice(length, min(SAMPLED_ROWS, length), replace=False))
        rows[-1] = length - 1
        q, k, v = (each[chosen].astype(np.float32) for each in (self.q[:, rows], self.k, self.v))
        score = q @ k.transpose(0, 2, 1) * np.float32(self.scale)
        if self.causal:
            score[:, np.arange(length)[None, :] > rows[:, None]] = -np.inf
        power = np.exp(score - score.max(-1, keepdims=True))
        return chosen, rows, power @ v / power.sum(-1, keepdims=True)

    def error(self, found: Array) -> float:
        """Largest error of a result [batches * heads, length, width], where it is sampled."""
        heads, rows, expected = self.sampled
        return largest_error(found[heads][:, rows], expected)


@dataclass(frozen=True)
class Work:
    """launch: what is timed. result: what the last launch computed [batches * heads, length, width]."""

    launch: Callable[[], object]
    result: Callable[[], Array]
    close: Callable[[], object] = lambda: None


Maker: TypeAlias = "Callable[[Problem], Work]"


@dataclass(frozen=True)
class Peer:
    """needs: modules to import, and what pip calls the package that has the last of them."""

    needs: tuple[str, ...]
    package: str
    make: Maker


def random_problem(batches: int, heads: int, length: int, width: int, causal: bool) -> Problem:
    """Values follow their keys, so that the rows of the result differ however many keys there are."""
    rng = np.random.default_rng([batches, heads, length, width])
    q, k, v = (rng.standard_normal((batches * heads, length, width), np.float32).astype(np.float16) for _ in range(3))
    v += k
    return Problem(q, k, v, batches, causal)


def case_of(keys: int, width: int, causal: bool) -> cases.Case:
    """The case of benchmarks/peers whose kernel it is, in cuTile and in Triton."""
    wanted = {"M": QUERIES, "N": keys, "D": width, "CAUSAL": causal}
    for case in cases.CASES:
        if case.source == "attention" and case.constants == wanted:
            return case
    raise SystemExit(f"attention {QUERIES}x{keys}x{width}: expected a width of 64 or 128")


class Ours:
    """Our kernels on a device, each compiled and loaded once."""

    def __init__(self, device: Device, target: str, load: Callable[[tilesat.Kernel], Kernel]) -> None:
        self._device, self._target, self._load = device, target, load
        self._loaded: dict[tuple[int, int, bool], Kernel] = {}

    def make(self, keys: int, problem: Problem) -> Work:
        """The kernel with steps of so many keys."""
        device, key = self._device, (keys, problem.width, problem.causal)
        if key not in self._loaded:
            from benchmarks.peers import kernels

            signature = case_of(*key).signature
            self._loaded[key] = self._load(tilesat.compile(kernels.attention, self._target, signature=signature))
        held = [device.put(each) for each in (problem.q, problem.k, problem.v)]
        held.append(device.empty(problem.q.shape, problem.q.dtype))
        heads, length, width = problem.q.shape
        values: list[Any] = []
        for each in held:
            values += [each, *map(np.int32, (heads, length, width, length * width, width, 1))]
        values.append(np.float32(problem.scale))
        launch = self._loaded[key].prepare((-(-length // QUERIES), heads, 1), values)
        return Work(launch, lambda: device.get(held[3]), partial(_free, device, held))

    def makers(self) -> dict[str, Maker]:
        """One for each length of a step."""
        return {f"tilesat {QUERIES}x{keys}": partial(self.make, keys) for keys in KEYS}


def _free(device: Device, held: list[DeviceArray]) -> None:
    for each in held:
        device.free(each)


def _tensors(problem: Problem, heads_inside: bool = False) -> list[Any]:
    """q, k and v on the card, [batch, head, row, width], or [batch, row, head, width] where heads are inside."""
    import torch

    tensors = [torch.from_numpy(each.reshape(problem.shape)) for each in (problem.q, problem.k, problem.v)]
    return [(each.transpose(1, 2).contiguous() if heads_inside else each).cuda() for each in tensors]


def _called(call: Callable[[], Any], problem: Problem, heads_inside: bool = False) -> Work:
    """Work that gives its result back, FlashAttention-3 and -4 with sums beside it."""
    last: list[Any] = [None]

    def launch() -> None:
        last[0] = call()

    def result() -> Array:
        out = last[0][0] if isinstance(last[0], tuple) else last[0]
        return (out.transpose(1, 2) if heads_inside else out).reshape(problem.q.shape).cpu().numpy()

    return Work(launch, result)


def scaled_dot_product(backend: str, problem: Problem) -> Work:
    """PyTorch's, by one backend and no other."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    tensors, only = _tensors(problem), getattr(SDPBackend, backend)

    def call() -> Any:
        with sdpa_kernel(only):
            return scaled_dot_product_attention(*tensors, is_causal=problem.causal, scale=problem.scale)

    return _called(call, problem)


def flash(module: str, problem: Problem) -> Work:
    """FlashAttention's function of a module; its three packages name it and these arguments alike."""
    from importlib import import_module

    function, tensors = import_module(module).flash_attn_func, _tensors(problem, heads_inside=True)
    options = {"softmax_scale": problem.scale, "causal": problem.causal}
    return _called(lambda: function(*tensors, **options), problem, heads_inside=True)


def triton(keys: int, problem: Problem) -> Work:
    """Triton's kernel of benchmarks/peers, by the same tiles as ours."""
    import torch

    from benchmarks.peers.triton_kernels import attention

    case = case_of(keys, problem.width, problem.causal)
    heads, length, width = problem.q.shape
    q, k, v = _tensors(problem)
    out = torch.empty_like(q)
    grid, sizes = (-(-length // QUERIES), heads), (length, length, *[width] * 4)
    options = {**case.constants, "num_warps": case.warps, "num_stages": case.stages}

    def call() -> Any:
        attention[grid](q, k, v, out, problem.scale, *sizes, **options)  # pyright: ignore[reportIndexIssue]
        return out

    return _called(call, problem)


PEERS = {
    **{
        f"PyTorch, {backend}": Peer(("torch",), "torch", partial(scaled_dot_product, backend))
        for backend in ("FLASH_ATTENTION", "CUDNN_ATTENTION")
    },
    "FlashAttention-2": Peer(("torch", "flash_attn"), "flash-attn", partial(flash, "flash_attn")),
    "FlashAttention-3": Peer(
        ("torch", "flash_attn_interface"), "flash-attn-3", partial(flash, "flash_attn_interface")
    ),
    "FlashAttention-4": Peer(("torch", "flash_attn.cute"), "flash-attn-4", partial(flash, "flash_attn.cute")),
    **{
        f"Triton {QUERIES}x{keys}": Peer(("torch", "triton"), "triton", partial(triton, keys)) for keys in KEYS
    },
}  # fmt: skip


def missing(peer: Peer) -> str:
    """The module that a peer has not; empty where all are installed."""
    for name in peer.needs:
        try:
            found = find_spec(name)
        except ModuleNotFoundError:  # the package around it
            found = None
        if found is None:
            return f"{name} is not installed"
    return ""


def versions() -> dict[str, str]:
    """Of the packages that are compared and installed."""
    found: dict[str, str] = {}
    for package in ("torch", *{peer.package: None for peer in PEERS.values()}):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def attempt(name: str, maker: Maker, problem: Problem, spent: Callable[[Work], float] | None = None) -> Any:
    """(error, milliseconds or nothing) of a launch, or why there are none."""
    try:
        work = maker(problem)
        try:
            work.launch()
            error = problem.error(work.result())
            return error, spent(work) if spent is not None and error <= TOLERANCE else None
        finally:
            work.close()
    except Exception as error:  # whatever a peer's package raises is the reason that is printed
        if name.startswith("tilesat"):
            raise
        return f"{type(error).__name__}: {(str(error).strip().splitlines() or ['no message'])[0]}"


def checked(makers: Mapping[str, Maker], width: int, causal: bool, left_out: dict[str, str]) -> dict[str, Maker]:
    """Those that compute a small problem right; of the others `left_out` has the reason."""
    problem, good = random_problem(*CHECKED, width, causal), dict[str, "Maker"]()
    for name, maker in makers.items():
        told = attempt(name, maker, problem)
        if isinstance(told, str) or not told[0] <= TOLERANCE:
            why = told if isinstance(told, str) else f"WRONG: an error of {told[0]:.2g} (tolerance {TOLERANCE:g})"
            left_out[where := f"{name}, width {width}, {'causal' if causal else 'full'}"] = why
            print(f"left out: {where}: {why}")
        else:
            good[name] = maker
    return good


def sizes(width: int, lengths: list[int], tokens: int, hidden: int) -> Iterator[tuple[int, int, int]]:
    """Batches, heads and length: `tokens` queries in all, heads that are `hidden` wide together, one at least."""
    for length in lengths:
        yield max(1, tokens // length), max(1, hidden // width), length


def attentions(ours: Ours, spent: Callable[[Work], float], arguments: Any) -> dict[str, Any]:
    """Rows of the table, printed as they come; why peers are left out; versions of packages."""
    left_out = {name: why for name, peer in PEERS.items() if (why := missing(peer))}
    for name, why in left_out.items():
        print(f"left out: {name}: {why}")
    makers = ours.makers() | {name: peer.make for name, peer in PEERS.items() if name not in left_out}
    rows: list[dict[str, Any]] = []
    for width in arguments.widths:
        for causal in (False, True):
            good = checked(makers, width, causal, left_out)
            print(HEADING)
            for size in sizes(width, arguments.lengths, arguments.tokens, arguments.hidden):
                rows.append(timed(good, random_problem(*size, width, causal), spent, left_out))
                print(*lines(rows[-1]), sep="\n", flush=True)
    return {"rows": rows, "left_out": left_out, "versions": versions()}


def timed(
    makers: Mapping[str, Maker], problem: Problem, spent: Callable[[Work], float], left_out: dict[str, str]
) -> dict[str, Any]:
    """One row of all: milliseconds and errors by name; without those that are wrong, or refuse, at this size."""
    batches, heads, length, width = problem.shape
    row: dict[str, Any] = {
        "width": width, "causal": problem.causal, "batches": batches, "heads": heads, "length": length,
        "flops": problem.flops, "ms": {}, "error": {},
    }  # fmt: skip
    for name, maker in makers.items():
        told = attempt(name, maker, problem, spent)
        if isinstance(told, str):
            left_out[where := f"{name}, width {width}, {_mask(row)}, length {length}"] = told
            print(f"left out: {where}: {told}")
            continue
        row["error"][name] = told[0]
        if told[1] is not None:
            row["ms"][name] = told[1]
    return row


def _mask(row: dict[str, Any]) -> str:
    return "causal" if row["causal"] else "full"


HEADING = (
    "\n| width | mask | batches x heads x length | who | ms | TFLOP/s | of the best peer | error |\n" + "|---" * 8 + "|"
)


def lines(row: dict[str, Any]) -> Iterator[str]:
    """One line for each that was run: the ratio is the fastest peer's time to its own, above 1 where it is faster."""
    peers = [spent for who, spent in row["ms"].items() if not who.startswith("tilesat")]
    what = f"| {row['width']} | {_mask(row)} | " + " x ".join(str(row[key]) for key in ("batches", "heads", "length"))
    for who, error in row["error"].items():
        if who not in row["ms"]:
            yield f"{what} | {who} | WRONG | - | - | {error:.2g} |"
            continue
        spent = row["ms"][who]
        share = f"{min(peers) / spent:.2f}" if peers else "-"
        yield f"{what} | {who} | {spent:.4f} | {row['flops'] / spent / 1e9:.1f} | {share} | {error:.2g} |"


def wrong(found: dict[str, Any]) -> bool:
    """Whether a kernel of ours computed something else."""
    late = any(error > TOLERANCE for row in found["rows"] for who, error in row["error"].items() if "tilesat" in who)
    return late or any(name.startswith("tilesat") for name in found["left_out"])
