"""print_tko: the simulator's text of the driver's vprintf is the interpreter's, and ptxas takes the code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from ir.load import load
from ir.types import TOKEN, TileType
from ptxsim import GlobalMemory, launch
from runtime.ptxas import assemble
from tests.programs.program import random
from tilesat.execution import check_arguments, launch_arguments
from tilesat.fuzz.writer import Tile, Writer, element
from tilesat.levels import lower

Write = Callable[[Writer], None]


def say(w: Writer, text: str, *tiles: Tile, token: Tile | None = None) -> Tile:
    """A print, after a token if one is given."""
    given = [] if token is None else [token]
    return w.op(ct.Print, *tiles, *given, types=[TOKEN], segments=(len(tiles), len(given)), str=text)


def texts(source: str, target: str, arguments: list[Any]) -> tuple[str, str, Any]:
    """What one tile block prints: interpreted, simulated; and the kernel."""
    kernel = tilesat.compile(source, target)
    cubin = assemble(kernel.ptx, target)
    assert cubin.warnings == ()
    assert all("C7510" in info for info in cubin.infos)  # a call within a product's loop: wgmma waits for each product
    said: list[str] = []
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    run(load(source.encode()), (1,), copies, output=said.append)
    memory, given = GlobalMemory(), check_arguments(kernel.entry, arguments)
    addresses = {id(a): memory.put(a) for a in given if isinstance(a, np.ndarray)}
    report = launch(
        kernel.ptx, grid=(1, 1, 1), block=kernel.manifest["block"], memory=memory, hazards=True,
        args=launch_arguments(kernel.manifest, given, addresses, memory), dynamic_smem=kernel.manifest["dynamic_smem"],
    )  # fmt: skip
    return "".join(said), "".join(report.printed), kernel


def scalars(w: Writer) -> None:
    n = w.n
    say(w, "plain %%, no number\n")
    say(w, "%d and %5d, %-5d|, %+d, %05d\n", n, n, n, n, n)
    wide = n.to("i64") * 10_000_000_000
    say(w, "%d %lld %x %u\n", wide, wide, wide, wide)
    for kind in ("i8", "i16"):
        small = n.to(kind)
        say(w, f"{kind} %d %u %x %o %hhd\n", small, small, small, small, small)
    say(w, "i1 %d %u\n", n < 0, n < 0)
    x = n.to("f32") / 3.0
    say(w, "%f %e %g %10.3f %G\n", x, x, x, x, x)
    say(w, "%a %A|%20a|%-20.3a|%+.0a|%#020a|%.15a\n", x, x, x, x, x, x, x)
    for kind in ("f16", "bf16", "f64", "tf32"):
        say(w, f"{kind} %.9g\n", x.to(kind))
    say(w, "%f %a %.2a\n", *(x * 0.0 + number for number in (np.inf, -np.inf, 0.0)))


def tiles(w: Writer) -> None:
    x = w.load(w.view(w.x, [32, 16], [16, 1], [32, 16]), 0, 0)
    say(w, "row %g\n", w.load(w.view(w.x, [512], [1], [8]), 3))
    say(w, "one %g, %d\n", w.load(w.view(w.x, [512], [1], [1]), 7), w.iota(4))
    say(w, "many: %.3f end\n", x)
    say(w, "half %.3f", x.to("f16"))
    say(w, " and integers %d of %d, %d.\n", w.iota(256), w.n, w.iota(16).to("i8"))
    say(w, "deep %g\n", x.reshape(4, 2, 1, 64))
    say(w, "%d %x\n", w.iota(32), w.iota(2))


def in_order(w: Writer) -> None:
    """A print in a loop and on a side of a branch; a load behind one sees what was stored before it."""
    view = w.view(w.x, [512], [1], [8])
    with w.loop(0, w.n + 10) as loop:
        say(w, "step %d\n", loop.counter)
        w.branch(loop.counter.eq(1), lambda: say(w, "one\n") and None)
    stored = w.store(w.load(view, 0) * 0.0 + 2.5, view, 0)
    said = say(w, "stored\n", token=stored)
    say(w, "read %g\n", w.load(view, 0, token=said))


def beside_rings(w: Writer) -> None:
    """After agents have split, if there are any, one consumer thread prints."""
    a = w.view(w.h, [64, 128], [128, 1], [64, 32])
    with w.loop(0, 4, carried=[w.const(0.0, "f32", 64, 64)]) as loop:
        tile = w.load(a, 0, loop.counter)
        loop.values = [w.dot(tile, tile.T, loop.values[0])]
        say(w, "k %d: %.3f\n", loop.counter, loop.values[0].reduce(1).reshape(64))
    w.store(loop.values[0], w.view(w.y, [64, 64], [64, 1], [64, 64]), 0, 0)


CASES: dict[str, Write] = {"scalars": scalars, "tiles": tiles, "in-order": in_order, "rings": beside_rings}


def written(write: Write) -> str:
    w = Writer("printing", x="ptr<f32>", y="ptr<f32>", h="ptr<f16>", n="i32")
    w.promise(x=16, y=16, h=16)
    write(w)
    return w.text()


def given() -> list[Any]:
    return [random((512,), "f32", 1), random((64, 64), "f32", 2), random((64, 128), "i8", 3).astype(np.float16), -7]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_text(name: str, target: str) -> None:
    interpreted, simulated, _ = texts(written(CASES[name]), target, given())
    assert simulated == interpreted
    assert interpreted.count("\n") > 2


def test_one_call_prints_a_few_elements() -> None:
    """No other tile block's text can stand between the parts of one."""

    def write(w: Writer) -> None:
        say(w, "%d, %g and %d\n", w.iota(8), w.load(w.view(w.x, [512], [1], [16]), 0), w.n)

    kernel = tilesat.compile(written(write))
    assert kernel.ptx.count("call (vprintf_result)") == 1
    assert kernel.stages["nvgpu"].count("gpu.printf") == 1


@pytest.mark.parametrize("on", ["sim", "ref"])
def test_the_text_goes_to_standard_output(on: str, capsys: pytest.CaptureFixture[str]) -> None:
    tilesat.compile(written(in_order)).run((1,), *given(), on=on)
    assert capsys.readouterr().out == "step 0\nstep 1\none\nstep 2\nstored\nread [" + ", ".join(["2.5"] * 8) + "]\n"


@pytest.mark.parametrize("stage", ["nv_tileas", "nvgpu", "nvvm"])
def test_levels_read_back(stage: str) -> None:
    kernel = tilesat.compile(written(scalars))
    assert lower(kernel.stages[stage]).ptx == kernel.ptx


def test_nv_tileaa_reads_back() -> None:
    kernel = tilesat.compile(written(in_order))
    assert '"nv_tileaa.print"(' in kernel.stages["nv_tileaa"]
    assert tilesat.compile(kernel.stages["nv_tileaa"]).ptx == kernel.ptx


WRONG: dict[str, tuple[Write, str]] = {
    "a float as an integer": (lambda w: say(w, "%d", w.n.to("f32")) and None, "cannot print f32 with '%d'"),
    "an integer as a float": (lambda w: say(w, "%5.1f", w.n) and None, "cannot print i32 with '%5.1f'"),
    "a zero byte": (lambda w: say(w, "a\0b") and None, "a zero byte ends the text"),
    "f8 without conversions": (
        lambda w: say(w, "%f", w.op(ct.Bitcast, w.n.to("i8"), types=[TileType((), element("f8E5M2"))])) and None,
        "sm_80 has no conversions of f8E5M2",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_rejected_at_its_location(what: str) -> None:
    write, message = WRONG[what]
    source = written(write)
    with pytest.raises(UnsupportedError) as caught:
        tilesat.compile(source)
    assert message in caught.value.message
    assert caught.value.hint
    assert "print_tko" in source.splitlines()[caught.value.location.line - 1]
