"""CTAs an SM: what an SM has room for, and registers of agents by what their code needs."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import tilesat
from lowering.atoms.barrier import register_shares
from lowering.targets import ALL_TARGETS, target
from lowering.targets.occupancy import Occupancy, occupancy
from lowering.targets.target import KIB
from runtime.ptxas import assemble
from tests.lowering.report import outline
from tests.tilesat.example_cases import EXAMPLES, gemm, layernorm
from tests.tilesat.test_limits import gemm_text
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

H100 = "sm_90a"


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "expected"),
    [
        ("sm_80", 128, 255, 0, Occupancy(16, 32, 164, 2)),
        ("sm_80", 288, 168, 81 * KIB, Occupancy(7, 32, 2, 1)),  # 12 warps fit, 9 make a CTA
        ("sm_86", 32, 32, KIB, Occupancy(48, 16, 50, 64)),
        ("sm_89", 256, 64, 99 * KIB, Occupancy(6, 24, 1, 4)),
        ("sm_90a", 256, 80, 73840, Occupancy(8, 32, 3, 3)),  # taken are 73856 bytes and the reserved KiB
        ("sm_90a", 128, 33, 0, Occupancy(16, 32, 228, 12)),  # a warp is given registers in steps of 8 a thread
        ("sm_120a", 1024, 64, 0, Occupancy(1, 24, 100, 1)),
    ],
)
def test_ctas_of_an_sm(name: str, threads: int, registers: int, shared: int, expected: Occupancy) -> None:
    """By hand, by the rules of NVIDIA's occupancy calculator."""
    found = occupancy(target(name), threads, registers, shared)
    assert found == expected
    assert found.count == min(expected.warps, expected.ctas, expected.shared, expected.registers)


def test_what_limits_is_said() -> None:
    said = "1 CTA per SM, limited by shared memory; registers would allow 2, warps would allow 8, CTAs would allow 32"
    assert str(Occupancy(8, 32, 1, 2)) == said
    assert str(Occupancy(8, 8, 8, 8)) == "8 CTAs per SM, limited by shared memory and registers and warps and CTAs"


@pytest.mark.parametrize("name", ALL_TARGETS)
def test_resident_ctas(name: str) -> None:
    """Source: CUDA C++ Programming Guide, technical specifications per compute capability."""
    few = {"sm_86": 16, "sm_89": 24, "sm_110": 24, "sm_110a": 24, "sm_110f": 24}
    assert target(name).ctas_per_sm == (24 if name.startswith("sm_12") else few.get(name, 32))


def test_shares_of_a_cta_are_no_more_than_it_has() -> None:
    """setmaxnreg.inc would wait forever for registers that no warp released; PTX ISA, setmaxnreg: 24 to 256 by 8."""
    for ctas, consumers, least in product(range(1, 17), (128, 256, 384), (24, 32, 40)):
        shares = register_shares(consumers, 128, least, target(H100).shared_by(ctas))
        launch = shares.launch * (consumers + 128)
        assert launch * ctas <= 65536
        assert shares.consumer * consumers + shares.other * 128 <= launch
        assert shares.other <= shares.launch <= shares.consumer
        assert not shares.moved or {shares.consumer % 8, shares.other % 8} == {0}
        assert not shares.moved or least <= shares.other < shares.launch


def registers(kernel: Kernel) -> tuple[int, int, int]:
    """Registers a thread at launch, of the producer and of the consumers."""
    found = [re.findall(rf"{text} (\d+)", kernel.ptx) for text in (r"\.maxnreg", r"\.dec\S+", r"\.inc\S+")]
    launch, other, consumer = (int(each[0]) for each in found)
    return launch, other, consumer


def ctas(kernel: Kernel) -> int:
    """CTAs that an SM holds of what was assembled: ptxas spilled nothing and said nothing."""
    made = assemble(kernel.ptx, H100)
    assert (made.spill_stores, made.infos, made.warnings) == (0, (), ())
    manifest = kernel.manifest
    return occupancy(target(H100), manifest["block"][0], made.registers, manifest["dynamic_smem"]).count


@pytest.mark.in_turn
def test_agents_that_need_few_registers_take_few() -> None:
    """They took the whole register file: 240 a thread and one CTA an SM. Results as before, in hazard mode."""
    case = layernorm(3, 2500)
    kernel = tilesat.compile(case.source, H100)
    launch, other, consumer = registers(kernel)
    assert launch * 2 == other + consumer
    assert ctas(kernel) >= 3
    said = rf"^{ctas(kernel)} CTAs per SM, limited by .*\n    \d+ registers per thread needed, {launch} given"
    assert re.search(said, outline(kernel.compiled), re.M)
    arguments = case.fresh()
    kernel.run(case.grid, *arguments, hazards=True)
    assert np.abs(case.logical(arguments) - case.expected).max() <= case.tolerance


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "least"), [("sm_80", 4), ("sm_86", 2), ("sm_90a", 3), ("sm_120a", 2)])
def test_rings_of_a_loop_that_waits_for_memory_leave_room_for_other_ctas(name: str, least: int) -> None:
    """Bytes in flight of all CTAs count: with the deepest rings sm_80 had room for 2."""
    kernel = tilesat.compile(EXAMPLES / "layernorm.mlir", name)
    selection, manifest = kernel.compiled.selection, kernel.manifest
    (chosen,) = (said for cls, said in selection.shape.items() if cls in selection.answer.chosen and "CTAs" in said)
    made = assemble(kernel.ptx, name)
    assert (made.spill_stores, made.infos, made.warnings) == (0, (), ())
    found = occupancy(target(name), manifest["block"][0], made.registers, manifest["dynamic_smem"])
    assert found.count >= int(chosen.removesuffix(" CTAs/SM")) >= least


@pytest.mark.in_turn
@pytest.mark.parametrize("name", ["sm_80", "sm_89"])
def test_other_ctas_compute_while_products_of_one_wait(name: str) -> None:
    """A ring of 6 stages hid all waiting for memory, and what one CTA's products leave apart was taken to be fixed."""
    kernel = tilesat.compile(EXAMPLES / "flash_attention.mlir", name)
    made = assemble(kernel.ptx, name)
    assert (made.spill_stores, made.infos, made.warnings) == (0, (), ())
    assert (
        occupancy(target(name), kernel.manifest["block"][0], made.registers, kernel.manifest["dynamic_smem"]).count == 2
    )


def hinted(example: str, occupancy: int) -> str:
    """An example that asks for CTAs an SM."""
    hints = f"optimization_hints=<default = {{occupancy = {occupancy}}}>"
    return (EXAMPLES / f"{example}.mlir").read_text().replace(") {\n", f") {hints} {{\n", 1)


@pytest.mark.parametrize("name", ["sm_90a", "sm_100a", "sm_120a"])
def test_few_threads_alone_on_an_sm_have_all_registers_a_thread_can(name: str) -> None:
    """Four warps next to a producer had 248 registers by setmaxnreg, where all eight may have 255 without it."""
    shares = register_shares(128, 128, 24, target(name))
    assert (shares.launch, shares.consumer, shares.other, shares.moved) == (255, 255, 255, False)
    assert register_shares(128, 128, 24, target(name).shared_by(2)).moved
    case = gemm(128, 128, 96)
    kernel = tilesat.compile(hinted("gemm", 1), name)
    assert (kernel.manifest["block"][0], kernel.ptx.count("setmaxnreg")) == (256, 0)
    assert ".maxnreg 255" in kernel.ptx
    made = assemble(kernel.ptx, name)
    assert (made.spill_stores, made.infos, made.warnings) == (0, (), ())
    arguments = case.fresh()
    kernel.run(case.grid, *arguments, hazards=True)
    assert np.abs(case.logical(arguments) - case.expected).max() <= case.tolerance


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("asked", "name", "given"), [(2, H100, 2), (3, H100, 2), (16, "sm_80", 8)])
def test_more_ctas_than_fit_are_warned_of(asked: int, name: str, given: int) -> None:
    """With 3 CTAs an SM a thread began with 80 registers, 64 sums want 90, and ptxas refused the kernel."""
    text = hinted("gemm", asked)
    if asked == given:
        kernel = tilesat.compile(text, name)
    else:
        said = rf"'occupancy = {asked}' has partial effect: .* of {given} CTAs fit an SM"
        with pytest.warns(UserWarning, match=said):
            kernel = tilesat.compile(text, name)
    assert kernel.compiled.modules["nvvm"].attributes["minctas"] == given
    assert assemble(kernel.ptx, name).warnings == ()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("asked", [3, 4, 5, 8])
def test_ctas_that_products_leave_no_registers_for_are_not_promised(asked: int) -> None:
    """ptxas refused the kernel with 4 (C7602: 32 sums and 4 registers of A want 62 registers) and with 5 (C7600)."""
    with pytest.warns(UserWarning, match=f"'occupancy = {asked}'"):
        kernel = tilesat.compile(hinted("flash_attention", asked), H100)
    made = assemble(kernel.ptx, H100)
    assert (made.infos, made.warnings) == ((), ())
    given = kernel.compiled.minctas
    assert given is not None
    assert occupancy(target(H100), kernel.manifest["block"][0], made.registers, 0).count >= given
    assert given == asked or made.spill_stores == 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("example", "name", "asked"), [("gemm", H100, 4), ("gemm", "sm_80", 4), ("flash_attention", "sm_120a", 3)]
)
def test_ctas_that_make_a_thread_spill_are_warned_of(example: str, name: str, asked: int) -> None:
    with pytest.warns(UserWarning, match=rf"'occupancy = {asked}' leaves a thread about \d+ registers short"):
        kernel = tilesat.compile(hinted(example, asked), name)
    assert assemble(kernel.ptx, name).spill_stores > 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("example", "asked"), [("gemm", 2), ("flash_attention", 2), ("layernorm", 4), ("softmax", 8)])
def test_ctas_that_fit_are_given_without_a_word(example: str, asked: int, recwarn: pytest.WarningsRecorder) -> None:
    kernel = tilesat.compile(hinted(example, asked), H100)
    assert not recwarn
    assert kernel.compiled.minctas == asked
    assert ctas(kernel) >= asked


@pytest.mark.in_turn
def test_says_what_other_ctas_would_cost() -> None:
    report = tilesat.compile(EXAMPLES / "layernorm.mlir", H100).report
    assert re.search(r"^    3 CTAs/SM, free\n        else [24] CTAs/SM; the program then costs", report, re.M)


def test_products_keep_an_sm_for_themselves() -> None:
    """A ring that hides all waiting leaves nothing for a second CTA to hide."""
    kernel = tilesat.compile(EXAMPLES / "gemm.mlir")
    assert not any("CTAs" in said for said in kernel.compiled.selection.shape.values())
    assert kernel.manifest["dynamic_smem"] == 4 * 32 * KIB


@pytest.mark.in_turn
def test_agents_that_need_all_registers_keep_them() -> None:
    """240 is what two of three warpgroups have of 3 * 168 if the producer keeps as few as it must."""
    kernel = tilesat.compile(EXAMPLES / "flash_attention.mlir", H100)
    assert registers(kernel) == (168, 24, 240)
    assert ctas(kernel) == 1


@pytest.mark.in_turn
@pytest.mark.parametrize(("forbid", "least", "consumer"), [((), 24, 240), (("tma",), 40, 232)])
def test_a_producer_keeps_what_its_copies_need(forbid: tuple[str, ...], least: int, consumer: int) -> None:
    """One that starts two tensor copies kept 40 registers a thread, too, which 256 consumers lacked."""
    kernel = tilesat.compile(gemm_text(256, 128, 64), H100, forbid=forbid)
    assert registers(kernel) == (168, least, consumer)
    assert ctas(kernel) == 1


@pytest.mark.parametrize("example", ["layernorm", "gemm"])
def test_printing_again_grants_the_same(example: str) -> None:
    """By setmaxnreg, and where it is left out."""
    from lowering import ptx

    kernel = tilesat.compile(EXAMPLES / f"{example}.mlir", H100)
    assert ("setmaxnreg" in kernel.ptx) == (example == "layernorm")
    before = dict(kernel.compiled.modules["nvvm"].attributes)
    assert ptx.emit(kernel.compiled.modules["nvvm"]) == kernel.ptx  # pyright: ignore[reportArgumentType]
    assert kernel.compiled.modules["nvvm"].attributes == before


@pytest.mark.parametrize(("width", "copies", "registers"), [(4096, 32, 40), (2048, 16, 24)])
def test_a_producer_of_many_copies_in_a_row_keeps_more_registers(width: int, copies: int, registers: int) -> None:
    """ptxas computes the coordinates of 32 ahead, and spilled in 24: 32, and 8 that the consumers cannot take."""
    w = Writer("rows", x="ptr<f32>", y="ptr<f32>", d="ptr<f32>")
    w.promise(x=16, y=16, d=16)
    x, y, d = (w.view(each, [64, width], [width, 1], [1, width]) for each in (w.x, w.y, w.d))
    with w.loop(w.ids[0], 64, w.grid[0]) as rows:
        w.store(w.load(x, rows.counter, 0) - w.load(y, rows.counter, 0), d, rows.counter, 0)
    kernel = tilesat.compile(w.text(), "sm_100a")
    _, _, code = kernel.ptx.partition("setmaxnreg.dec")
    producer, _, _ = code.partition("setmaxnreg.inc")
    assert len(re.findall(r"cp\.async\.bulk\.tensor", producer)) == copies
    assert producer.startswith(f".sync.aligned.u32 {registers};")
    assert assemble(kernel.ptx, "sm_100a").spill_stores == 0
