"""Damaged bytecode gives one located error: never another exception, a hang or a memory blow-up."""

import random
import resource
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from cuda.tile._bytecode import encodings as writer
from cuda.tile._bytecode.debug_info import DebugAttrId
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._bytecode.writer import write_bytecode

from ir.bytecode import BytecodeError, read_bytecode
from ir.bytecode import write_bytecode as write_module
from ir.core import TileError, UnsupportedError, verify
from ir.dialects.cuda_tile import OptimizationHints
from ir.text import parse, print_text

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/bytecode"
FILES = sorted(DATA.glob("*.tileirbc"))
HEADER = b"\x7fTileIR\x00\x0d\x03\x00\x00"


def read(data):
    """Read and verify; only a located TileError may come out."""
    error = None
    try:
        verify(read_bytecode(data, "x.tileirbc"))
    except TileError as caught:
        error = caught
    assert error is None or error.location.file != "<unknown>", error
    assert error is None or str(error).count("\n") <= 1
    return error


def mutate(data, rng):
    """One to four random edits: a byte set, bits flipped, a run deleted, inserted or repeated, the end cut."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del data[at : at + rng.randint(1, 8)]
        elif kind == 3:
            data[at:at] = bytes(rng.choices([0xFF, 0x80, 0x7F, 0], k=rng.randint(1, 10)))
        elif kind == 4:
            data[at:at] = data[at : at + rng.randint(1, 64)]
        elif len(data) > 64:
            del data[at:]
            break
    return bytes(data) or b"\x00"


def test_mutations_are_refused_or_read():
    rng = random.Random(20240)
    refused = 0
    start = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sources = [f.read_bytes() for f in FILES]
    for _ in range(4000):
        refused += read(mutate(rng.choice(sources), rng)) is not None
    assert refused > 2000
    assert time.perf_counter() - start < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.slow
def test_many_mutations_are_refused_or_read():
    rng = random.Random(7)
    sources = [f.read_bytes() for f in FILES]
    for _ in range(100_000):
        read(mutate(rng.choice(sources), rng))


def test_every_truncation_is_refused():
    data = (DATA / "softmax.13.3.tileirbc").read_bytes()
    for length in range(len(data)):
        error = read(data[:length])
        assert isinstance(error, BytecodeError), length
        assert 0 <= error.location.offset <= length


def section(identity, payload):
    """A section without alignment."""
    return bytes([identity, *varint(len(payload))]) + payload


ONE_STRING = b"\x81\x09\x04\xcb" + b"\x01\xcb\xcb\xcb" + bytes(4) + b"a"


def varint(number):
    encoded = []
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return [*encoded, number]


@pytest.mark.parametrize(
    ("data", "message", "offset"),
    [
        (b"", "not Tile IR bytecode", 0),
        (b"MLIR bytecode", "not Tile IR bytecode", 0),
        (HEADER[:9], "minor version is missing", 9),
        (HEADER, "section id is missing", 12),
        (HEADER + b"\x09\x00", "unknown section 9", 12),
        (HEADER + b"\x02\x05\x00", "section function needs 5 bytes, 1 are left", 14),
        (HEADER + b"\x82\x00\x03", "section alignment 3 is not a power of two", 12),
        (HEADER + section(1, b"\x00") * 2 + b"\x00", "section string appears twice", 15),
        (HEADER + section(2, bytes(varint(1 << 60))) + b"\x00", "functions do not fit", 14),
        (HEADER + section(2, b"\xff" * 12) + b"\x00", "has more than 64 bits", 14),
        (HEADER + section(5, bytes(varint(1 << 40)) + b"\x00" * 8) + b"\x00", "types do not fit", 14),
        (HEADER + ONE_STRING + section(7, b"\x00\x00") + b"\x00", "1 bytes are left after the producer", 28),
        (HEADER + section(7, b"\x03") + b"\x00", "producer: string 3 does not exist, there are 0", 14),
        (HEADER + section(2, b"\x01\x00\x00\x02\x00") + b"\x00", "string 0 does not exist, there are 0", 15),
        (HEADER + b"\x00\xcb", "1 bytes are left after the end of the sections", 12),
        (HEADER + b"\x80\x00\x01", "unknown section 0", 12),
        (HEADER + section(2, b"\x00\xcb\xca") + b"\x00", "2 bytes are left after the last function", 15),
        (HEADER + section(6, b"\x00\x00") + b"\x00", "1 bytes are left after the last global", 15),
    ],
)
def test_message_and_offset(data, message, offset):
    with pytest.raises(BytecodeError) as caught:
        read_bytecode(data, "x.tileirbc")
    assert message in caught.value.message
    assert caught.value.location.offset == offset
    assert str(caught.value).startswith(f"x.tileirbc:byte {offset}: error: ")


@pytest.mark.parametrize("version", [(13, 0), (13, 6), (14, 1), (0, 0)])
def test_other_versions_are_refused_with_advice(version):
    data = (DATA / "gemm.13.3.tileirbc").read_bytes()
    with pytest.raises(UnsupportedError, match=r"13\.1 to 13\.5"):
        read_bytecode(data[:8] + bytes(version) + data[10:])


def test_an_empty_module_is_read():
    assert read_bytecode(HEADER + b"\x00").entries == []


NEGATIONS = """
entry @k() {
  %x = constant <i32: [3, -4]> : tile<2xi32>
  %y = negi %x : tile<2xi32>
}
"""
FLAGS = 19
"""Where the first function's flags are: after the header, the section's head, the count, its name and type."""


def negations():
    """Bytecode of 13.1, whose function section starts at byte 16."""
    data = bytearray(write_module(parse(NEGATIONS), (13, 1)))
    assert data[12] == 0x82
    assert data[16] == 1
    return data


def test_padding_may_end_a_section():
    """A file that NVIDIA's tools wrote for 13.1 has 6 bytes of it after its last function."""
    data = negations()
    end = 16 + data[13]
    data[13] += 8
    data[end:end] = b"\xcb" * 8
    assert print_text(read_bytecode(bytes(data))) == print_text(read_bytecode(bytes(negations())))
    data[end + 3] = 0
    with pytest.raises(BytecodeError, match="8 bytes are left after the last function"):
        read_bytecode(bytes(data))


@pytest.mark.parametrize(("flags", "fault"), [(3, ""), (0x0A, "flags 0xa"), (0x82, "flags 0x82"), (1, "not a kernel")])
def test_flags_of_a_function(flags, fault):
    """A private kernel is one like any other, as for upstream's reader."""
    data = negations()
    assert data[FLAGS] == 2
    data[FLAGS] = flags
    if not fault:
        assert len(read_bytecode(bytes(data)).entries) == 1
        return
    with pytest.raises((BytecodeError, UnsupportedError), match=fault):
        read_bytecode(bytes(data))


@pytest.mark.in_turn
def test_one_changed_byte_never_makes_an_empty_module():
    """A section id that becomes 0 would end the file before its functions."""
    data = (DATA / "gemm.13.3.tileirbc").read_bytes()
    for at in range(12, len(data)):
        try:
            module = read_bytecode(data[:at] + b"\x00" + data[at + 1 :])
        except TileError:
            continue
        assert module.entries, at


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ((("sm_80", (("latency", 1),)), ("sm_80", ())), "architecture of hints 'sm_80' is given twice"),
        ((("sm_80", (("latency", 1), ("latency", 2))),), "hint 'latency' is given twice"),
        ((("", ()),), "architecture of hints has no name"),
        ((("sm_80", (("", 1),)),), "hint has no name"),
    ],
)
def test_keys_of_hints_are_named_once(hints, message):
    module = parse("entry @k() optimization_hints=<sm_90 = {occupancy = 1}> { return }")
    module.entries[0].attributes["hints"] = OptimizationHints(hints)
    with pytest.raises(BytecodeError, match=message):
        read_bytecode(write_module(module))


def test_deep_nesting_is_refused_without_recursion_error():
    buffer = bytearray()
    with write_bytecode(1, buffer, BytecodeVersion.V_13_3) as module:
        flag = module.type_table.tile(module.type_table.I1, ())
        with module.function("k", [flag], [], True, {}, DebugAttrId(0)) as (builder, (condition,)), ExitStack() as nest:
            for _ in range(3000):
                nest.enter_context(writer.encode_IfOp(builder, [], condition).new_block([]))
    with pytest.raises(BytecodeError, match="nested deeper than 64"):
        read_bytecode(bytes(buffer))


def test_an_unknown_operation_is_named():
    buffer = bytearray()
    with write_bytecode(1, buffer, BytecodeVersion.V_13_3) as module:
        bytes_type = module.type_table.tile(module.type_table.I32, (4,))
        with module.function("k", [bytes_type], [], True, {}, DebugAttrId(0)) as (builder, (value,)):
            writer.encode_PackOp(builder, bytes_type, value)
    at = buffer.index(bytes([111, 2]))
    buffer[at] = 126
    with pytest.raises(UnsupportedError, match="operation with opcode 126 is not supported yet") as caught:
        read_bytecode(bytes(buffer), "k.tileirbc")
    assert caught.value.location.offset == at


def test_locations_lead_to_the_kernel_source():
    module = read_bytecode((DATA / "gemm.13.3.tileirbc").read_bytes(), "gemm.tileirbc")
    source = (ROOT / "examples/cutile/gemm.py").read_text().splitlines()
    (product,) = [op for op in module.walk() if op.name == "cuda_tile.mmaf"]
    assert product.location.file == "examples/cutile/gemm.py"
    assert "ct.mma" in source[product.location.line - 1]
    assert product.location.offset > 0
