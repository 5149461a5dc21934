"""Damaged programs of every kind: each is read, or refused with one located error, quickly and in little memory."""

import random
import resource
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from ir.bytecode import read_bytecode, write_bytecode
from ir.core import TileError, verify
from ir.text import parse, parse_all, print_text
from tests.ir.samples import SAMPLES, SINCE, program

KERNELS = sorted((Path(__file__).resolve().parent / "kernels").glob("*.mlir"))
NEWEST = (13, 5)
SECONDS, BYTES = 2.0, 500_000_000
"""What one program may take: processor time, and address space beyond what the process holds before it."""
PAGE = resource.getpagesize()
PATCHES = (
    "", "<", ">", "%", "{", "}", "(", ")", "[", "]", '"', ":", " = ", ",", "->", "#", "!", "@", "\x00", "//", "\n",
    "tile<4xf32>", "token", "-1", "99999999999999999999", "0x", "1.0", "loc(", "#loc0 = loc(", "!t = tile<2xi8>\n",
    "^bb0:",
    '"cuda_tile.addi"(', "<{", "}>", "dense<", "array<i32: ", "entry @k() {", "constant <", "é",
)  # fmt: skip


def texts():
    """Whole kernels, uses of every operation, and both in generic form."""
    plain = [path.read_text() for path in KERNELS]
    plain += [program(right) for _, right, *_ in SAMPLES]
    return plain + [print_text(parse(text), form="generic") for text in plain[::3]]


def binaries():
    """The same programs as bytecode, where bytecode holds them."""
    found = [write_bytecode(parse(path.read_text())) for path in KERNELS]
    known = [right for name, right, *_ in SAMPLES if SINCE.get(name, NEWEST) <= NEWEST]
    return found + [write_bytecode(parse(program(right)), NEWEST) for right in known]


def damaged_text(text, chance):
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            text = text[:at] + chance.choice(PATCHES) + text[at + chance.randint(0, 20) :]
        elif kind == 1:
            end = at + chance.randint(1, 200)
            text = text[:at] + text[end:]
        elif kind == 2:
            end = at + chance.randint(1, 100)
            text = text[:end] + text[at:end] * chance.choice([1, 2, 30]) + text[end:]
        else:
            lines = text.split("\n")
            first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[first], lines[second] = lines[second], lines[first]
            text = "\n".join(lines)
    return text


def damaged_bytes(data, chance):
    data = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(12, len(data)) if len(data) > 12 else 0
        kind = chance.randrange(6)
        if kind == 0:
            data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        elif kind == 1:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del data[at : at + chance.randint(1, 8)]
        elif kind == 3:
            data[at:at] = bytes(chance.choices([0xFF, 0x80, 0x7F, 0], k=chance.randint(1, 10)))
        elif kind == 4:
            data[at:at] = data[at : at + chance.randint(1, 64)]
        else:
            data[at] = (data[at] + chance.choice([1, -1])) % 256
    return bytes(data) or b"\x00"


@contextmanager
def limited():
    """Fail on whatever needs more than the time, or the memory, of one program."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, hard))
    start = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert time.process_time() - start < SECONDS


def judged(work):
    """True where the program is refused; anything but one located error fails, and so does too much time or memory."""
    error = None
    with limited():
        try:
            for module in work():
                verify(module)
                print_text(module)
        except TileError as caught:
            error = caught
    assert error is None or error.location.file != "<unknown>", error
    assert error is None or error.message
    return error is not None


def sweep(count, seed):
    """`count` damaged texts and as many files; most must be refused, some must not."""
    chance = random.Random(seed)
    sources, files = texts(), binaries()
    refused = 0
    for _ in range(count):
        text = damaged_text(chance.choice(sources), chance)
        refused += judged(lambda text=text: parse_all(text, "k.mlir"))
        data = damaged_bytes(chance.choice(files), chance)
        refused += judged(lambda data=data: [read_bytecode(data, "k.tileirbc")])
    assert 0.5 * count < refused < 2 * count


def busy(seconds):
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass


def test_the_limits_hold():
    with pytest.raises(MemoryError), limited():
        bytearray(BYTES + BYTES // 10)
    with pytest.raises(AssertionError), limited():
        busy(SECONDS)


def test_damaged_programs_are_read_or_refused():
    sweep(600, 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_damaged_programs_are_read_or_refused(seed):
    """20,000 programs in all."""
    sweep(1000, 100 + seed)
