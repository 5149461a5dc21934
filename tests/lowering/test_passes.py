"""Passes by name: the table is whole, pipelines read as they print, levels are checked, the road is one pipeline."""

from __future__ import annotations

from collections.abc import Set

import pytest

from extract.methods import METHODS
from ir.core import Block, Builder, Op, Region, TileError, VerifyError
from ir.dialects import gpu, llvm, nv_tileas
from ir.load import load
from lowering.levels import descend
from lowering.passes import table
from lowering.passes.levels import LEVELS
from lowering.passes.manager import Outcome, run
from lowering.passes.registry import KINDS
from lowering.passes.syntax import check_levels, names, parse, show, since, until, with_options
from lowering.passes.table import PASSES, ROAD
from tests.tilesat.example_cases import EXAMPLES


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_is_declared_whole(name: str) -> None:
    work = PASSES[name]
    assert {work.takes, work.gives} <= set(LEVELS)
    assert work.summary.endswith(".")
    assert len(work.summary) > 30
    for option in work.options:
        assert option.kind in KINDS
        if option.kind != "function":  # only a program can give one
            assert option.default == option.read(option.text(option.default)) or option.kind == "names"
    assert len({option.name for option in work.options}) == len(work.options)


def test_methods_of_extraction_are_all_named() -> None:
    assert (*METHODS, "top:N") == table.METHODS


def test_the_road_reads_as_it_prints() -> None:
    assert show(parse(ROAD)) == ROAD
    assert check_levels(parse(ROAD), "cuda_tile") == "ptx"
    beside = {
        "sink-negf-through-shapes",
        "convert-cuda-tile-to-tileaa",
        "convert-tileaa-to-cuda-tile",
        "convert-nvvm-to-llvm",
        "tileas-insert-ocg-knobs",
    }
    assert set(names(parse(ROAD))) | beside == set(PASSES)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" encode , saturate { budget=7  without=float/,lift }", "encode,saturate{budget=7 without=float/,lift}"),
        ("extract{apart}", "extract{apart=true}"),
        ('saturate{rules="a b.egg"}', 'saturate{rules="a b.egg"}'),
        ("extract{below=2.5e3 method=ilp}", "extract{below=2500.0 method=ilp}"),
        ("best-of-candidates(encode,saturate)", "best-of-candidates(encode,saturate)"),
        ("extract{method=top:12}", "extract{method=top:12}"),
    ],
)
def test_pipelines_read_and_print(text: str, shown: str) -> None:
    assert show(parse(text)) == shown
    assert show(parse(shown)) == shown


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("encode,saturat", 8, "there is no pass 'saturat'", "did you mean saturate?"),
        ("xyzzy", 1, "there is no pass 'xyzzy'", "`tilesat passes` lists them"),
        ("encode,", 8, "expected the name of a pass, got the end", ""),
        ("encode;saturate", 7, "unexpected ';'", "separate passes with commas: a,b{option=1},c(d,e)"),
        ("encode{rows=1}", 8, "'encode' has no option 'rows'", "its options: warps"),
        ("decode{rows=1}", 8, "'decode' has no option 'rows'", "its options: none"),
        ("saturate{budget=many}", 10, "option 'budget' of 'saturate': expected a whole number, got 'many'", ""),
        ("saturate{budget}", 10, "option 'budget' of 'saturate': expected a whole number, got ''", ""),
        ("extract{below=low}", 9, "option 'below' of 'extract': expected a number, got 'low'", ""),
        ("extract{apart=maybe}", 9, "option 'apart' of 'extract': expected true or false, got 'maybe'", ""),
        ("extract{method=best}", 9, "option 'method' of 'extract': expected one of auto, tree, greedy, pruned, ilp, "
         "top:N, got 'best'", ""),
        ("extract{apart apart}", 15, "option 'apart' is given twice", ""),
        ("extract{", 9, "expected the name of an option, got the end", ""),
        ("encode(saturate)", 1, "'encode' has no passes inside it", ""),
        ("best-of-candidates", 1, "'best-of-candidates' needs passes inside it", "write best-of-candidates(a,b,c)"),
        ("best-of-candidates(encode", 26, "expected ')'", ""),
    ],
)  # fmt: skip
def test_bad_pipelines_are_located(text: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(TileError) as caught:
        parse(text)
    assert (caught.value.location.column, caught.value.message, caught.value.hint) == (column, message, hint)


def test_an_option_that_means_nothing_is_refused() -> None:
    with pytest.raises(TileError, match=r"forbid: no atom has a name that starts with 'wgmna'"):
        parse("extract{forbid=wgmna}")


@pytest.mark.parametrize(
    ("text", "level", "column", "message", "hint"),
    [
        ("encode,rematerialize", "cuda_tile", 8, "'rematerialize' takes nvvm, but the program here is encoded",
         "passes that lead from encoded to nvvm: saturate,extract,decode,tileas-materialize-schedule,"
         "tileas-lower-pipelines,convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm"),
        ("convert-nvgpu-to-nvvm,convert-nvgpu-to-nvvm", "nvgpu", 23,
         "'convert-nvgpu-to-nvvm' takes nvgpu, but the program here is nvvm", "no passes lead from nvvm back to nvgpu"),
        ("best-of-candidates(encode)", "cuda_tile", 1,
         "the passes inside 'best-of-candidates' end at encoded, not at nv_tileas",
         "passes that lead from encoded to nv_tileas: saturate,extract,decode,tileas-materialize-schedule,"
         "tileas-lower-pipelines"),
    ],
)  # fmt: skip
def test_a_pass_at_the_wrong_level(text: str, level: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(VerifyError) as caught:
        check_levels(parse(text), level)
    assert (caught.value.location.column, caught.value.message, caught.value.hint) == (column, message, hint)


def test_parts_of_the_road() -> None:
    assert show(until(parse(ROAD), "saturate")) == (
        "convert-cuda-tile-to-tileaa,convert-tileaa-to-cuda-tile,drop-unit-batches,"
        "select-small-inserts,tileas-dynamic-persistent,tileas-plan-cta,pack-half-bytes,unroll-loops,"
        "simplify-induction-variables,check-supported,tileas-slicing,encode,saturate"
    )
    assert since(parse(ROAD), "nv_tileaa") == parse(ROAD)[1:]
    assert show(until(parse(ROAD), "tileas-materialize-schedule")).endswith(
        ",decode,tileas-rotate-loops,tileas-place-accumulators,tileas-materialize-schedule"
    )
    last = show(until(parse(ROAD), "optimize-execution-unit-mapping"))
    assert last.endswith("tileas-lower-pipelines,tileas-peel-masks,optimize-execution-unit-mapping)")
    assert show(since(parse(ROAD), "placed")).startswith("tileas-rotate-loops,tileas-place-accumulators,")
    assert show(since(parse(ROAD), "pipelined")).startswith("tileas-lower-pipelines,tileas-peel-masks,")
    assert show(since(parse(ROAD), "nvvm")) == "select-instructions,grant-registers,coalesce-registers,print-ptx"
    assert since(parse(ROAD), "cuda_tile") == parse(ROAD)
    with pytest.raises(VerifyError, match="the pipeline has no pass 'decode'"):
        until(parse("encode,saturate"), "decode")
    given = with_options(parse(ROAD), "extract", method="tree", apart=False)
    assert "extract{method=tree}" in show(given)


def passed(pipeline: str, example: str = "gemm_negated", *targets: str, verify_each: bool = True) -> list[Outcome]:
    entry = load(EXAMPLES / f"{example}.mlir").entries[0]
    return run(parse(pipeline), entry, targets or ("sm_90a",), verify_each=verify_each, counting=True)


def test_targets_share_one_e_graph() -> None:
    first, second = passed(ROAD, "gemm", "sm_80", "sm_120a")
    assert first.context.levels["chosen"].saturated is second.context.levels["chosen"].saturated
    assert first.program != second.program
    assert first.context.seconds["saturate"] == second.context.seconds["saturate"] > 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("example", ["gemm", "flash_attention", "layernorm"])
def test_every_declared_statistic_is_counted(example: str) -> None:
    (outcome,) = passed(ROAD, example)
    counted = {name: set(numbers) for name, numbers in outcome.context.counts.items()}
    for name in names(parse(ROAD)):
        assert counted.get(name, set()) == {each.name for each in PASSES[name].statistics}


def kernel_with(kind: type[Op], func: type[Op], **attributes: object) -> Op:
    block = Block()
    b = Builder(block)
    b.add(kind, types=[])
    b.add(gpu.Return if func is gpu.GpuFunc else nv_tileas.Return, types=[])
    known = {"sym_name": "k", "target": "sm_80", **attributes}
    return func((), (), known, [Region([block])])


def test_what_is_left_over_at_a_border_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion that forgets an operation: the border names it, the pass and the place."""
    func = kernel_with(gpu.Barrier, gpu.GpuFunc, block=(32, 1, 1))
    assert "bar.sync" in descend(func, {}).ptx

    def forgetful(func: gpu.GpuFunc, forbid: Set[str]) -> llvm.Func:
        block = Block()
        b = Builder(block, func.body.block.ops[0].location)
        b.add(gpu.Barrier, types=[])
        b.add(llvm.Return, types=[])
        return llvm.Func((), (), gpu.kernel_attributes(func), [Region([block])])

    monkeypatch.setattr("lowering.convert.nvgpu_to_nvvm.convert", forgetful)
    with pytest.raises(VerifyError, match=r"'gpu.barrier' is not legal after convert-nvgpu-to-nvvm") as caught:
        descend(func, {})
    assert caught.value.hint == "nvvm holds operations of llvm, nvvm"
