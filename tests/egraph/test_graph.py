"""Random straight-line kernels, saturated: all nodes of a class have one value, and every fact is true of it."""

import numpy as np
import pytest

from egraph.encode import encode
from egraph.saturate import saturate
from egraph.soundness import meaning
from egraph.soundness.model import Datum, evaluate, undefined
from egraph.soundness.sampling import Sampler
from egraph.terms import signatures
from ir.core import OPS, Block, Builder, Region, TileError, Value, verify
from ir.dialects import cuda_tile as ct
from ir.types import I32, FloatType, IntType, TileType

ARITHMETIC = ["addi", "subi", "muli", "divi", "remi", "maxi", "mini", "cmpi"]
INTEGER = [*ARITHMETIC, "andi", "ori", "xori", "shli", "shri", "exti", "trunci", "select"]
FLOAT = ["addf", "subf", "mulf", "divf", "fma", "negf", "absf", "maxf", "minf", "ftof"]
SHAPE = ["broadcast", "reshape", "permute", "iota", "constant", "constant", "constant", "assume", "assume"]
CLASSES = {cls.info.mnemonic: cls for cls in OPS.values() if issubclass(cls, ct.TileOp)}


class Writer:
    """Writes a random kernel and knows the value of everything in it."""

    def __init__(self, seed, mnemonics, length):
        self.draw = Sampler(np.random.default_rng(seed))
        self.values: dict[Value, np.ndarray] = {}
        block = Block([TileType((), I32)] * 3)
        self.builder = Builder(block)
        for argument in block.args:
            self.values[argument] = np.asarray(self.draw.number(I32), np.int32)
        while len(self.values) < length:
            self.step(self.draw.pick(mnemonics))
        self.builder.add(ct.Return)
        self.entry = ct.Entry(attributes={"sym_name": "k"}, regions=[Region([block])])

    def step(self, mnemonic):
        cls = CLASSES[mnemonic]
        known = list(self.values)
        operands = [self.draw.pick(known[-12:] if self.draw.chance(0.7) else known) for _ in cls.info.operands]
        if len(operands) > 1 and self.draw.chance(0.6):  # a second operand that fits the first
            fitting = [v for v in known if v.type == operands[0].type]
            operands[1:] = [self.draw.pick(fitting) for _ in operands[1:]]
        types = [v.type for v in operands]
        data = [Datum(v.type, self.values[v]) for v in operands]
        try:
            attributes = {
                a.name: self.draw.attribute(a, mnemonic, [(d.type, d.data) for d in data])
                for a in cls.info.attributes
                if a.kind is not ct.DenseElements
            }
            result = None if cls.info.results[0].like else [self.draw.result_type(mnemonic, types, attributes)]
            if mnemonic == "constant":
                result = [self.draw.tile_type()]
                attributes["value"] = self.literal(result[0])
            op = cls(operands, result, attributes)
            verify(op)
        except (TileError, ValueError, IndexError, KeyError, AttributeError, TypeError):
            return
        if undefined(op, data) or (mnemonic == "assume" and not isinstance(op.results[0].type.element, IntType)):
            return
        self.builder.block.append(op)
        self.values[op.results[0]] = evaluate(op, data).data

    def literal(self, type_):
        if isinstance(type_.element, IntType) and self.draw.chance(0.8):
            array = np.asarray(self.draw.number(type_.element)).astype(ct.dtype_of(type_.element))
            return ct.DenseElements(array)
        return self.draw.literal(type_)


def check(writer):
    program = encode(writer.entry)
    result = saturate(program)
    frozen, table = result.frozen, program.interner
    assert result.report.saturated
    known: dict[int, Datum] = {}
    for number, value in enumerate(program.values):
        if value is not None and value in writer.values:  # the encoder makes narrow literals of bytes
            found = Datum(value.type, writer.values[value])
            cls = frozen.class_of(number)
            if cls in known:
                assert meaning.equal(known[cls].data, found.data), value
            known[cls] = found
    waiting = [n for n in frozen.nodes if n.op not in ("none", "nil", "arg")]
    checked = 0
    while True:
        ready = [n for n in waiting if all(c in known for c in n.children)]
        if not ready:
            break
        waiting = [n for n in waiting if n not in ready]
        for node in ready:
            found = value_of(node, known, table)
            if node.cls in known:
                assert known[node.cls].type == found.type, node
                assert meaning.equal(known[node.cls].data, found.data), (node, known[node.cls], found)
                checked += 1
            known[node.cls] = found
    assert not waiting
    facts = check_facts(frozen, known)
    return checked, facts


def value_of(node, known, interner):
    operands = [known[c] for c in node.children]
    if node.op == "splat":
        number, type_id = node.literals
        type_ = interner.types[type_id]
        return Datum(type_, np.full(type_.shape, number, ct.dtype_of(type_.element)))
    signature = next(s for s in signatures().values() if s.name == node.op)
    cls = CLASSES[signature.mnemonic]
    literals = list(node.literals)
    attributes = {}
    for attribute in (a for a in cls.info.attributes if a.name != "hints"):
        integer = literals.pop(0)
        plain = isinstance(attribute.kind, type) and issubclass(attribute.kind, int)
        attributes[attribute.name] = attribute.kind(integer) if plain else interner.attributes[integer]
    result = None if signature.like >= 0 else [interner.types[literals[-1]]]
    block = Block([o.type for o in operands])
    op = cls(list(block.args), result, attributes)
    verify(op)
    assert not undefined(op, operands), f"{node} is undefined on {operands}"
    return evaluate(op, operands)


def check_facts(frozen, known):
    count = 0
    for fact in (*meaning.UNARY, *meaning.BY_DIMENSION):
        for key, value in frozen.analysis.get(fact, {}).items():
            cls, d = key if isinstance(key, tuple) else (key, 0)
            datum = known[cls]
            group = frozen.analysis["contiguity"][cls, d] if fact == "alignment" else 1
            assert meaning.true_claim(fact, value, datum.data, datum.type, d, group), (fact, value, d, datum)
            count += 1
    return count


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(30))
def test_integer_kernels(seed):
    _, facts = check(Writer(seed, INTEGER + SHAPE, 40))
    assert facts > 50


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(20))
def test_float_kernels(seed):
    check(Writer(seed, FLOAT + FLOAT + ["broadcast", "reshape", "permute", "constant", "constant"], 30))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_more_kernels(seed):
    check(Writer(seed, INTEGER + FLOAT + SHAPE, 60))


def test_equal_classes_are_compared():
    """The sweep is worth something: classes with several nodes, and floats, occur."""
    checked = [check(Writer(seed, INTEGER + FLOAT + SHAPE, 50))[0] for seed in range(5)]
    assert sum(checked) > 100
    values = [value for seed in range(3) for value in Writer(seed, FLOAT + SHAPE, 40).values]
    assert sum(isinstance(v.type.element, FloatType) for v in values) > 20
