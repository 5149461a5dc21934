"""The hand-off to ptxas: resources, located errors, advisories, SASS."""

from dataclasses import replace
from pathlib import Path

import pytest

from runtime import ptxas
from runtime.driver.images import parts, ptx_of

DATA = Path(__file__).parent / "data"
GEMM = (DATA / "nvcc" / "kernels.ptx").read_text()
ONE_WARP = (DATA / "ptx" / "01_cpasync_ldmatrix_mma_f16.ptx").read_text()


def test_assemble_reports_resources() -> None:
    cubin = ptxas.assemble(ONE_WARP, "sm_80")
    assert cubin.binary[:4] == b"\x7fELF"
    assert list(cubin.entries) == ["gemm16x8"]
    assert 20 <= cubin.registers <= 40
    assert (cubin.smem, cubin.barriers) == (3072, 1)
    assert (cubin.spill_stores, cubin.spill_loads, cubin.stack) == (0, 0, 0)
    assert cubin.infos == cubin.warnings == ()


def test_spills_are_reported() -> None:
    cubin = ptxas.assemble(GEMM.replace(".maxntid 128", ".maxnreg 32\n.maxntid 128"), "sm_80")
    assert cubin.entries["gemm"].spill_stores > 0
    assert cubin.spill_loads > 0


def test_errors_name_line_text_and_message() -> None:
    broken = ONE_WARP.replace("add.s64 %rd4,%rd0,%rd3", "adq.s64 %rd4,%rd0,%rd3")
    line = next(number for number, text in enumerate(broken.splitlines(), 1) if "adq" in text)
    with pytest.raises(ptxas.PtxasError) as caught:
        ptxas.assemble(broken, "sm_80")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.line == line
    assert "adq.s64" in diagnostic.text
    assert "adq" in diagnostic.message
    assert f"line {line}" in str(caught.value)


def test_too_few_registers_is_located_too() -> None:
    with pytest.raises(ptxas.PtxasError, match="C7602") as caught:
        ptxas.assemble(GEMM.replace(".maxntid 128", ".maxnreg 24\n.maxntid 128"), "sm_80")
    assert "mma.sync" in caught.value.diagnostics[0].text


def test_errors_without_a_line() -> None:
    with pytest.raises(ptxas.PtxasError, match="sm_83"):
        ptxas.assemble(ONE_WARP, "sm_83")
    with pytest.raises(ptxas.PtxasError, match="version"):
        ptxas.assemble("nothing", "sm_80")


def test_advisories_are_kept() -> None:
    text = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry roles() .reqntid 256 { setmaxnreg.inc.sync.aligned.u32 120; ret; }
"""
    cubin = ptxas.assemble(text, "sm_90a")
    assert len(cubin.infos) == 1
    assert "(C7508)" in cubin.infos[0]


def test_missing_program_says_how_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    ptxas.find.cache_clear()
    try:
        with pytest.raises(ptxas.PtxasNotFoundError, match="pip install --no-deps nvidia-cuda-nvcc"):
            ptxas.assemble(ONE_WARP, "sm_80")
    finally:
        ptxas.find.cache_clear()


def test_a_fat_binary_holds_cubins_and_their_ptx() -> None:
    made = [(ptxas.assemble(ONE_WARP, target), ONE_WARP) for target in ("sm_80", "sm_90")]
    found = parts(ptxas.fatbinary(made))
    assert [(part.name, part.data is None) for part in found] == [
        ("sm_80", True), ("sm_80", False), ("sm_90", True), ("sm_90", False),
    ]  # fmt: skip
    text = ptx_of(ptxas.fatbinary(made), (9, 0))  # without comments and with one space for several
    assert ptxas.assemble(text, "sm_90").entries == ptxas.assemble(ONE_WARP, "sm_90").entries


def test_a_fat_binary_that_cannot_be_made() -> None:
    cubin = replace(ptxas.assemble(ONE_WARP, "sm_80"), target="sm_none")
    with pytest.raises(ptxas.PtxasError, match=r"fatbinary for sm_none: .*invalid architecture"):
        ptxas.fatbinary([(cubin, ONE_WARP)])
