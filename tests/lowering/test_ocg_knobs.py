"""InsertOCGKnobs: its gates and texts, and what ptxas makes of them: a warning each, and the same code."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ir.core import VerifyError, verify
from ir.dialects import llvm
from ir.load import load
from lowering.passes.manager import run
from lowering.pipeline import Options, road
from runtime.ptxas import assemble, disassemble
from tilesat.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
GLOBAL, NEXT = '.pragma "global knob SchedResBusyXU64=1";', '.pragma "next knob FenceCode";'
ANCHOR = re.compile(r"\s*(\$W\d+:|@!?%\w+)?\s*(mbarrier|fence|barrier\.cluster|cp\.async\.mbarrier)\.")


def ptx(name: str, target: str, knobs: bool = True) -> list[str]:
    (made,) = run(road(replace(Options(), ocg_knobs=knobs)), load(EXAMPLES / f"{name}.mlir").entries[0], [target])
    return made.program.splitlines()


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("name", "target", "products"),
    [("gemm", "sm_80", 0), ("gemm", "sm_90a", 0), ("gemm", "sm_100a", 1), ("gemm", "sm_103", 1), ("gemm", "sm_120a", 0),
     ("layernorm", "sm_100a", 0)],
)  # fmt: skip
def test_gates_are_those_of_the_seed(name: str, target: str, products: int) -> None:
    lines = ptx(name, target)
    assert sum(GLOBAL in line for line in lines) == products
    if products:
        assert lines.index(f"    {GLOBAL}") < next(i for i, line in enumerate(lines) if "%tid.x" in line)
    anchors = [i for i, line in enumerate(lines) if ANCHOR.match(line)]
    assert bool(anchors) == (target != "sm_80")
    assert sum(NEXT in line for line in lines) == len(anchors)
    plain = [line for line in lines if ".pragma" not in line]
    assert plain == ptx(name, target, knobs=False)


@pytest.mark.in_turn
def test_ptxas_ignores_them() -> None:
    made, plain = ("\n".join(ptx("layernorm", "sm_100a", knobs)) for knobs in (True, False))
    knobbed, without = assemble(made, "sm_100a"), assemble(plain, "sm_100a")
    assert all("Pragma 'next knob FenceCode' unsupported" in line for line in knobbed.warnings)
    assert len(knobbed.warnings) == made.count(NEXT)
    assert without.warnings == ()
    assert disassemble(knobbed) == disassemble(without)


def test_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["compile", str(EXAMPLES / "vecadd_view.mlir"), "--target", "sm_90a", "--ocg-knobs", "--print-pipeline"]
    assert main(given) == 0
    assert "simplify-by-uses,tileas-insert-ocg-knobs,select-instructions" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["mov.u32 %r1, 0;", '.pragma "a"'])
def test_inline_assembly_is_directives(text: str) -> None:
    op = llvm.InlineAsm((), (), {"asm_string": text})
    with pytest.raises(VerifyError, match="'asm_string' must be a directive that ends in ';', is "):
        verify(op)
