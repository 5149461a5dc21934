"""The conditions of the public conformance suite: each program is refused, at its place, by the message that says why.

If nvidia-cuda-tileiras is installed, its verifier checks every program that bytecode can express.
"""

import numpy as np
import pytest

from ir.bytecode import write_bytecode
from ir.core import Block, Builder, Region, TileError
from ir.dialects import cuda_tile as ct
from ir.text import parse_all
from ir.types import (
    I4,
    I8,
    I32,
    I64,
    TOKEN,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)
from tests.ir.conformance import page
from tests.ir.test_kernels import find_disassembler, told_by

CASES = page.cases()
IDS = [f"{case.operation}: {case.condition}" for case in CASES]
LENIENT = ("optimization hint", "has a padding value")
"""Messages about what 13.4 of NVIDIA's tools lets pass: hints, and padding that the suite (13.3) still refuses."""


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_refused_by_the_message_that_names_the_condition(case):
    error = page.refusal(case)
    assert error is not None
    assert case.says in error.message
    assert 0 < error.location.line <= case.program.count("\n") + 1


def test_no_condition_is_listed_twice():
    assert len(set(IDS)) == len(IDS)
    assert len({case.program for case in CASES}) == len(CASES)


def test_every_line_of_the_suite_that_could_be_read_is_covered():
    lines = sum(case.lines for case in CASES)
    assert lines == page.SUITE_LINES - page.NOT_STORED - page.OF_A_TEST_PASS


def test_the_page_is_current():
    assert page.OUTPUT.read_text() == page.page()


def made_of(type_, builder):
    """A value of any type, made by operations: what stands for a parameter that an entry cannot have."""
    if isinstance(type_, TileType) and isinstance(type_.element, PointerType):
        return builder.value(ct.IntToPtr, made_of(TileType(type_.shape, I64), builder), types=[type_])
    if isinstance(type_, TileType) and type_.element == I4:
        return builder.value(ct.TruncI, made_of(TileType(type_.shape, I8), builder), types=[type_])
    if isinstance(type_, TileType):
        literal = ct.DenseElements(np.ones(1).astype(ct.dtype_of(type_.element)))
        return builder.value(ct.Constant, types=[type_], value=literal)
    if isinstance(type_, TensorViewType):
        base = made_of(TileType((), PointerType(type_.element)), builder)
        size = made_of(TileType((), I32), builder)
        counts = [sum(n is None for n in sizes) for sizes in (type_.shape, type_.strides)]
        segments = (1, *counts)
        return builder.add(ct.MakeTensorView, base, *[size] * sum(counts), types=[type_], segments=segments).result
    if type_ == TOKEN:
        return builder.value(ct.MakeToken, types=[TOKEN])
    makers = {
        PartitionViewType: ct.MakePartitionView,
        StridedViewType: ct.MakeStridedView,
        GatherScatterViewType: ct.MakeGatherScatterView,
    }
    return builder.value(makers[type(type_)], made_of(type_.view, builder), types=[type_])


def encoded(case):
    """The case as bytecode with its function as an entry; None where a reader refuses it or bytecode cannot hold it."""
    try:
        (module,) = parse_all(case.program, "case.mlir")
        body = module.body.block
        for index, function in enumerate(body.ops):
            if isinstance(function, ct.TestingFunc) and not function.result_types:
                head = Block()
                builder = Builder(head)
                old = function.body.block
                values = {value: made_of(value.type, builder) for value in old.args}
                for op in old.ops:
                    for inner in op.walk():
                        inner.operands = [values.get(value, value) for value in inner.operands]
                    head.append(op)
                body.ops[index] = ct.Entry((), (), {"sym_name": "f"}, [Region([head])])
        return write_bytecode(module, (13, 5))
    except (TileError, TypeError, ValueError, AttributeError, OverflowError, KeyError, IndexError):
        return None


def test_nvidias_verifier_refuses_the_same(tmp_path):
    tool = find_disassembler()
    if tool is None:
        pytest.skip("nvidia-cuda-tileiras is not installed")
    asked = 0
    for case in CASES:
        data = encoded(case)
        if data is not None and not any(part in case.says for part in LENIENT):
            asked += 1
            assert told_by(tool, data, tmp_path) is None, f"{case.operation}: {case.condition}"
    assert asked > 500
