"""A warp-specialised GEMM at the nvgpu level: right and free of hazards on the simulator, tight in SASS."""

import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ir.types import BF16, F8E4M3FN, F8E5M2, TF32
from ptxsim import SimulatorError
from tests.lowering.hopper_gemm import HopperGemm, Shape, operands
from tests.lowering.nvgpu_harness import PTXAS, assemble

DISASSEMBLER = PTXAS.parent / "nvdisasm"
TWO = Shape(consumers=2, stages=3)
SHAPES = [
    Shape(),
    TWO,
    replace(TWO, a=BF16, b=BF16, n=256),
    replace(TWO, a=F8E4M3FN, b=F8E5M2, k=128),
    Shape(a=F8E5M2, b=F8E4M3FN, k=128, stages=3),
    Shape(a=TF32, b=TF32, k=32),
    Shape(a_k_major=False),
    Shape(b_k_major=False),
    Shape(a_k_major=False, b_k_major=False, swizzle=64, k=32),
    Shape(swizzle=64, k=32),
    Shape(swizzle=32, stages=3),
    Shape(swizzle=32, stages=3, a_k_major=False, b_k_major=False),
    Shape(swizzle=0, stages=3),
    Shape(swizzle=0, stages=3, a_k_major=False, b_k_major=False),
    Shape(n=8, stages=3),
    Shape(n=64, stages=3, atom_n=16, b_k_major=False),
    Shape(m=64, n=256, consumers=2, groups_n=2, stages=3),
    Shape(m=256, n=128, consumers=2, stages=3, atom_n=64),
]


def named(value: object) -> str:
    """A short test id: what differs from the default shape."""
    if not isinstance(value, Shape):
        return str(value)
    fields = {f: getattr(value, f) for f in vars(value) if getattr(value, f) != getattr(Shape(), f)}
    return "-".join(f"{f}={getattr(v, 'name', v)}" for f, v in fields.items()) or "default"


def difference(shape: Shape, m: int, n: int, k: int, hazards: bool = False, edit=str) -> float:
    """Largest error on the simulator of the kernel, its PTX first passed through `edit`."""
    kernel = HopperGemm(shape).build()
    a, b = operands(shape, m, n, k)
    got = kernel.run(edit(kernel.text()), a, b, hazards)
    return float(abs(got - a.astype(np.float64) @ b.astype(np.float64).T).max())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_gemm_on_the_simulator(shape: Shape) -> None:
    assert difference(shape, 136, 144, 208) < 1e-3


@pytest.mark.sampled(5)
@pytest.mark.parametrize("k", [8, 64, 72, 520])
@pytest.mark.parametrize("shape", [Shape(), TWO], ids=named)
def test_any_number_of_steps(shape: Shape, k: int) -> None:
    assert difference(shape, 128, 128, k) < 1e-3


@pytest.mark.parametrize("shape", [Shape(), TWO, Shape(stages=3, b_k_major=False)], ids=named)
def test_gemm_has_no_hazard(shape: Shape) -> None:
    assert difference(shape, 128, 136, 328, hazards=True) < 1e-3


MUTATIONS = {
    "parity not flipped": (r"xor\.b32 (%r\d+), (%r\d+), 1;", r"mov.b32 \1, \2;"),
    "too few bytes expected": (r"(expect_tx.*, )32768;", r"\g<1>32752;"),
    "too many bytes expected": (r"(expect_tx.*, )32768;", r"\g<1>32784;"),
    "no wait for the data": (r"\$W1:\n.*try_wait.*\n.*bra \$W1;", ""),
    "no wait for an empty stage": (r"\$W2:\n.*try_wait.*\n.*bra \$W2;", ""),
    "no fence": (r"wgmma\.fence\.sync\.aligned;", ""),
    "no final wait": (r"wgmma\.wait_group\.sync\.aligned 0;", ""),
    "stage given back too early": (r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
    "wrong stride": (r"1073741888\}", "1073741856}"),
    "no commit": (r"wgmma\.commit_group\.sync\.aligned;", ""),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_caught(name: str) -> None:
    pattern, text = MUTATIONS[name]

    def edit(ptx: str) -> str:
        changed, count = re.subn(pattern, text, ptx)
        assert count
        return changed

    try:
        error = difference(Shape(stages=3), 128, 128, 520, hazards=True, edit=edit)
    except SimulatorError:
        return
    assert error > 1e-2


def loops(ptx: str) -> list[list[str]]:
    """Innermost SASS loops that hold a matrix instruction."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_text(ptx)
        subprocess.run([PTXAS, "-arch=sm_90a", "-o", cubin, source], check=True)
        listing = subprocess.run([DISASSEMBLER, "-c", cubin], capture_output=True, text=True, check=True).stdout
    labels: dict[str, int] = {}
    code: list[str] = []
    for line in listing.splitlines():
        if found := re.match(r"\s*(\.L_\w+):", line):
            labels[found[1]] = len(code)
        elif found := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?);", line):
            code.append(found[1])
    spans = [
        (labels[found[1]], at)
        for at, line in enumerate(code)
        if (found := re.search(r"BRA.*`\((\.L_\w+)\)", line)) and labels[found[1]] <= at
    ]
    made = [code[start : end + 1] for start, end in spans]
    made = [body for body in made if any("HGMMA" in line for line in body)]
    shortest = min(map(len, made))
    return [body for body in made if len(body) == shortest]


@pytest.mark.in_turn
@pytest.mark.parametrize(("shape", "limit"), [(Shape(), 60), (TWO, 45)], ids=named)
def test_main_loop_is_short(shape: Shape, limit: int) -> None:
    ptx = HopperGemm(shape).build().text()
    assemble(ptx, "sm_90a")
    for body in loops(ptx):
        assert sum("HGMMA" in line for line in body) == 8 // shape.consumers
        assert len(body) <= limit
        accumulators = {m for line in body if "HGMMA" in line for m in re.findall(r"(R\d+), gdesc", line)}
        assert len(accumulators) == 2 // shape.consumers


def test_accumulators_stay_in_their_registers() -> None:
    ptx = HopperGemm(Shape()).build().text()
    start = ptx.index("wgmma.fence")
    body = ptx[start : ptx.index("bra $L", ptx.rindex("mma_async"))]
    assert not re.search(r"mov\.\w+ %f", body)
    sets = {re.search(r"\{(.*?)\}", line)[1] for line in body.splitlines() if "mma_async" in line}
    assert len(sets) == 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s != Shape() and s != TWO][::3], ids=named)
def test_gemm_assembles(shape: Shape) -> None:
    assemble(HopperGemm(shape).build().text(), "sm_90a")


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_every_gemm_assembles(shape: Shape) -> None:
    assemble(HopperGemm(shape).build().text(), "sm_90a")
