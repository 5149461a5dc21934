"""Every declared operation, written by the encoder of the cuda-tile package with random fields, reads back the same."""

import enum
import inspect
import random
import re
from typing import Optional

import numpy as np
import pytest
from cuda.tile._bytecode import encodings as writer
from cuda.tile._bytecode.attribute import (
    AttributeArray,
    Bool,
    Bounded,
    Dictionary,
    DivBy,
    Float,
    Integer,
    OptimizationHints,
)
from cuda.tile._bytecode.debug_info import DebugAttrId
from cuda.tile._bytecode.type import PaddingValue, PtrAttr, SimpleType, TypeId
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._bytecode.writer import patch_header_preview_flag, write_bytecode

from ir.bytecode import read_bytecode
from ir.bytecode.container import FIRST_PREVIEW_OPCODE
from ir.bytecode.encoding import encodings
from ir.core import Operand, OptionalOperand
from ir.dialects.cuda_tile import attributes as tile
from ir.types import FloatType, IntType

VERSIONS = [(13, 1), (13, 2), (13, 3), (13, 4), (13, 5)]
ALIASES = {
    "rounding_mode": "rounding",
    "memory_ordering_semantics": "order",
    "memory_scope": "scope",
    "optimization_hints": "hints",
    "comparison_predicate": "predicate",
    "comparison_ordering": "ordering",
    "unsignedCmp": "unsigned_cmp",
    "paddingValue": "padding_value",
    "from_": "from",
    "global_": "global",
}
PARAMETERS = 12
"""Values in scope; each operand names a random one."""


def encoders():
    """Encoder functions by opcode, as the opcode constant in their source says."""
    found = {}
    for name, function in vars(writer).items():
        if name.startswith("encode_") and name.endswith("Op"):
            opcode = re.search(r"# Opcode\s+encode_varint\((\d+), _buf\)", inspect.getsource(function))
            found[int(opcode.group(1))] = function
    return found


ENCODERS = encoders()


class Arguments:
    """Random arguments for one encoder, and what the reader must find."""

    def __init__(self, rng, builder, types, version):
        self.rng, self.builder, self.types, self.version = rng, builder, types, version
        self.expected = {}
        self.operands = []
        self.result_count = 0
        self.f32 = types.tile(types.F32, (4,))

    def make(self, parameter, info):
        """A value for one parameter of an encoder."""
        kind, name = parameter.annotation, ALIASES.get(parameter.name, parameter.name)
        if kind in (writer.TypeId, Optional[writer.TypeId]):  # noqa: UP045
            field = next((r for r in info.results if f"{r.name}_type" == name), None)
            if field is not None and field.since > self.version:
                return None
            self.result_count += 1
            return self.f32
        if name == "result_types":
            self.result_count = 2 if info.variadic_results else 0
            return [self.f32] * self.result_count
        if kind is writer.Value:
            return self.value()
        if "Value" in str(kind) and "Sequence" in str(kind):
            return [self.value() for _ in range(self.rng.randrange(4))]
        if "Value" in str(kind):
            return self.value() if self.since(info, name) and self.rng.random() < 0.5 else None
        return self.attribute(kind, name, info)

    def value(self):
        """A random value in scope."""
        index = self.rng.randrange(PARAMETERS)
        self.operands.append(index)
        return writer.Value(index)

    def since(self, info, name):
        """Whether a field exists in the version written."""
        fields = {f.name: f for f in (*info.attributes, *info.operands)}
        return fields[name].since <= self.version

    def attribute(self, kind, name, info):
        """A random attribute; `expected` keeps what the reader must give."""
        exists = self.since(info, name)
        optional = "Optional" in str(kind)
        if optional and self.rng.random() < 0.5:
            return None
        if kind is bool:
            value = exists and self.rng.random() < 0.5
            self.expected[name] = value
            return value
        if kind is int:
            self.expected[name] = self.rng.choice([0, 1, 127, 128, 70000])
            return self.expected[name]
        if kind is str:
            self.expected[name] = "".join(self.rng.choices("abcé ", k=5))
            return self.expected[name]
        enumeration = next((a for a in (kind, *getattr(kind, "__args__", ())) if isinstance(a, enum.EnumMeta)), None)
        if enumeration is not None:
            member = self.rng.choice(list(enumeration))
            if not exists:
                return enumeration.FULL if hasattr(enumeration, "FULL") else enumeration.NONE
            self.expected[name] = member.value[0]
            return member
        return self.structured(kind, name, exists)

    def structured(self, kind, name, exists):
        """Hints, promises, literals and arrays."""
        rng = self.rng
        if name == "hints":
            latency = rng.randrange(1, 11)
            self.expected[name] = tile.OptimizationHints(
                (("sm_90", (("latency", latency), ("allow_tma", False))), ("default", ()))
            )
            inner = Dictionary([("latency", Integer.create_i32(latency)), ("allow_tma", Bool(False))])
            return OptimizationHints([("sm_90", inner), ("default", Dictionary([]))])
        if name == "predicate":
            number = rng.choice([-(1 << 40), -3, 0, 5, 1 << 62])
            made, mine = rng.choice(
                [
                    (DivBy(16), tile.DivBy(16)),
                    (DivBy(1 << 40, 4, 1), tile.DivBy(1 << 40, 4, 1)),
                    (Bounded(number, None), tile.Bounded(number, None)),
                    (Bounded(None, number), tile.Bounded(None, number)),
                ]
            )
            self.expected[name] = mine
            return made
        if name == "value":
            array = np.array([rng.gauss(0, 1) for _ in range(rng.choice([1, 4]))], np.float32)
            self.expected[name] = tile.DenseElements(array)
            return array.tobytes()
        if name == "permutation":
            self.expected[name] = tuple(rng.sample(range(3), 3))
            return self.expected[name]
        if name == "inbounds":
            bits = [exists and rng.random() < 0.5 for _ in range(3)]
            self.expected[name] = tuple(bits) if any(bits) else ()
            return bits
        if name == "identities":
            self.expected[name] = (-np.inf, -7, 1.5, True)
            i64 = self.types.I64
            return [
                Float(-np.inf, SimpleType.F32, self.types),
                Integer(i64, 64, -7),
                Float(1.5, SimpleType.F8E5M2, self.types),
                Bool(True),
            ]
        if name in ("const_args", "arg_attrs", "res_attrs"):
            return self.foreign(name)
        raise AssertionError(f"no random {kind} for {name}")

    def foreign(self, name):
        """Attributes for a function that is defined elsewhere: anything, numbers with their types."""
        number, text = self.rng.randrange(-9, 9), "".join(self.rng.choices("abcé", k=3))
        f16 = FloatType("f16", 16)
        inner = Dictionary([("n", Integer.create_i32(number)), ("s", AttributeArray([Bool(True), Bool(False)]))])
        mine = tile.Dictionary((("n", tile.TypedNumber(number, IntType(32))), ("s", (True, False))))
        self.expected[name] = (mine, tile.TypedNumber(1.5, f16), tile.Dictionary(((text, (mine,)),)))
        return [inner, Float(1.5, SimpleType.F16, self.types), Dictionary([(text, AttributeArray([inner]))])]


def write_one(encoding, version, rng):
    """Bytecode of a kernel with the operation between two constants, and the arguments used."""
    buffer = bytearray()
    number = BytecodeVersion(version[0] * 10000 + version[1] * 100)
    with write_bytecode(1, buffer, number) as module:
        types = module.type_table
        pointer = types.tile(types.pointer(types.F32, PtrAttr.Missing), ())
        with module.function("k", [pointer] * PARAMETERS, [], True, {}, DebugAttrId(0)) as (builder, _parameters):
            arguments = Arguments(rng, builder, types, version)
            encoder = ENCODERS[encoding.info.opcode]
            given = list(inspect.signature(encoder).parameters.values())[1:]
            made = encoder(builder, *[arguments.make(p, encoding.info) for p in given])
            if encoding.info.regions:
                for _ in encoding.info.regions:
                    with made.new_block([arguments.f32]):
                        writer.encode_YieldOp(builder, [writer.Value(PARAMETERS)])
                made.done()
            # The value numbers after the operation tell whether its results and regions were counted right.
            last = PARAMETERS + arguments.result_count
            writer.encode_NegFOp(builder, arguments.f32, writer.Value(last - 1))
            writer.encode_ReturnOp(builder, [writer.Value(last)])
    if encoding.info.opcode >= FIRST_PREVIEW_OPCODE:
        patch_header_preview_flag(buffer, number)
    return bytes(buffer), arguments


def default(encoding, name):
    return next(a.default for a in encoding.info.attributes if a.name == name)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v[0]}.{v[1]}")
def test_every_operation_reads_back_as_written(version):
    rng = random.Random(version[1])
    known = {code: e for code, e in encodings(version).items() if e.info.since <= version}
    assert len(known) >= 70
    for encoding in known.values():
        for _ in range(8):
            data, arguments = write_one(encoding, version, rng)
            body = read_bytecode(data).entries[0].body.block
            op = body.ops[0]
            assert type(op) is encoding.cls
            assert [body.args.index(v) for v in op.operands] == arguments.operands, op
            for name, value in arguments.expected.items():
                assert op.attributes.get(name, default(encoding, name)) == value, (op, name)
            for group, size in zip(encoding.info.operands, op.segments, strict=True):
                assert size == 1 or not isinstance(group, Operand)
                assert size <= 1 or not isinstance(group, OptionalOperand)
            negation, end = body.ops[1], body.ops[2]
            assert end.operands == negation.results
            if arguments.result_count:
                assert negation.operands == op.results[arguments.result_count - 1 : arguments.result_count]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v[0]}.{v[1]}")
def test_types_read_back_as_written(version):
    buffer = bytearray()
    with write_bytecode(1, buffer, BytecodeVersion(version[0] * 10000 + version[1] * 100)) as module:
        types = module.type_table
        names = ["I1", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "TF32", "F64", "F8E4M3FN", "F8E5M2"]
        names += ["F8E8M0FNU"] * (version >= (13, 2)) + ["F4E2M1FN", "I4"] * (version >= (13, 3))
        scalars = [types.simple(SimpleType[n]) for n in names]
        dynamic = -(1 << 63)
        view = types.tensor_view(types.F32, (dynamic, 64, 3), (dynamic, 3, 1), PtrAttr.Missing)
        made = [types.tile(s, (2, 8)) for s in scalars]
        made += [types.tile(types.pointer(types.I64, PtrAttr.Missing), (4,)), types.Token, view]
        made += [types.partition_view((2, 4, 8), view, (2, 0, 1), p) for p in PaddingValue]
        with module.function("k", made, [], True, {}, DebugAttrId(0)) as (builder, _):
            writer.encode_ReturnOp(builder, [])
    found = [str(a.type) for a in read_bytecode(bytes(buffer)).entries[0].body.block.args]
    spelled = {"BF16": "bf16", "TF32": "tf32"} | {n: "f8" + n[2:] for n in names if n.startswith("F8")}
    spelled["F4E2M1FN"] = "f4E2M1FN"
    expected = [f"tile<2x8x{spelled.get(n, n.lower())}>" for n in names]
    tensor = "tensor_view<?x64x3xf32, strides=[?,3,1]>"
    expected += ["tile<4xptr<i64>>", "token", tensor]
    for padding in PaddingValue:
        text = re.sub("(?<!^)(?=[A-Z])", "_", padding.name).lower()
        pad = "" if padding is PaddingValue.Missing else f", padding_value = {text}"
        expected.append(f"partition_view<tile=(2x4x8){pad}, {tensor}, dim_map=[2, 0, 1]>")
    assert found == expected
    assert TypeId(1) == types.I32
