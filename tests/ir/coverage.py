"""Makes docs/tile-ir-coverage.md by trying every sample: python -m tests.ir.coverage [--check]."""

import sys
from pathlib import Path

import numpy as np

from ir.bytecode import read_bytecode, write_bytecode
from ir.core import OPS, TileError, verify
from ir.dialects.cuda_tile import attributes
from ir.dialects.cuda_tile.attributes import TextEnum
from ir.interpreter import run
from ir.text import parse, print_text
from ir.types import SCALARS
from lowering.source.supported import lowered
from tests.generated_page import publish
from tests.ir.samples import SAMPLES, program
from tests.ir.test_samples import without_scales

OUTPUT = Path(__file__).resolve().parents[2] / "docs/tile-ir-coverage.md"
VERSIONS = [(13, 1), (13, 2), (13, 3), (13, 4), (13, 5)]
YES, NO = "yes", "no"
SPELLED = {"fpowf": "pow"}
HEAD = """# Coverage of CUDA Tile IR

Made by `python -m tests.ir.coverage`, which tries each operation; do not edit. "text" is what NVIDIA's disassembler
prints, read and printed to the same text; "generic" the same for MLIR generic form. "read" and "write" name the
bytecode versions that were written, read back and printed to the same text. "verify": a wrong use is rejected with its
location; "interpret": the reference interpreter runs it; "compile": the compiler has a lowering (what has none is
rejected with its location). Bytecode 13.1 to 13.4 is what cuTile writes. The multimem operations and preview_call
exist from 13.5 on, which NVIDIA's disassembler reads; a multicast array has one copy here, and a function that
preview_call names is defined elsewhere, so nothing can interpret it.

| opcode | operation | since | text | generic | read | write | verify | interpret | compile |
|---|---|---|---|---|---|---|---|---|---|
"""


def tried(work):
    """Whether something works; only an error about the program says no."""
    try:
        return work() is not False
    except TileError:
        return False


def versions(name, right):
    """The bytecode versions in which a sample survives."""
    found = []
    for version in VERSIONS:
        module = parse(without_scales(program(right), name))
        if tried(lambda m=module, v=version: print_text(read_bytecode(write_bytecode(m, v))) == print_text(m)):
            found.append(f"{version[0]}.{version[1]}")
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else (found or [NO])[0]


def row(name, right, wrong):
    """One line of the table."""
    cls = OPS[f"cuda_tile.{SPELLED.get(name, name)}"]
    module = parse(program(right))
    text = print_text(module)
    works = {
        "text": tried(lambda: print_text(parse(text)) == text),
        "generic": tried(lambda: print_text(parse(print_text(module, form="generic"))) == text),
        "verify": not tried(lambda: verify(parse(program(wrong)))),
        "interpret": tried(lambda: run(module, (1,), [np.ones(64, np.float32), np.ones(64, np.int32)], output=str)),
        "compile": lowered(cls),
    }
    said = {key: YES if value else NO for key, value in works.items()}
    held = versions(name, right)
    if name in ("module", "entry", "global"):
        said["compile"] = YES  # a module's parts: what compiles an entry reads them
    since = ".".join(map(str, cls.info.since))
    cells = [cls.info.opcode, f"`{name}`", since, said["text"], said["generic"], held, held, said["verify"]]
    return f"| {' | '.join(map(str, [*cells, said['interpret'], said['compile']]))} |"


def page():
    """The whole page."""
    ordered = sorted(SAMPLES, key=lambda s: OPS[f"cuda_tile.{SPELLED.get(s[0], s[0])}"].info.opcode)
    rows = [row(name, right, wrong) for name, right, wrong, _ in ordered]
    enums = [kind for kind in vars(attributes).values() if isinstance(kind, type) and issubclass(kind, TextEnum)]
    lines = [
        f"| {kind.__name__} | {', '.join(f'`{member.text}` {int(member)}' for member in kind)} |"
        for kind in enums if kind is not TextEnum
    ]  # fmt: skip
    count = f"\n{len(rows)} operations. Compiled: {sum(r.endswith('| yes |') for r in rows)}.\n"
    types = ", ".join(f"`{name}`" for name in SCALARS)
    views = "`tile`, `ptr` (with the pointer attribute of 13.4), `tensor_view`, `partition_view`, `strided_view`, "
    return (
        f"{HEAD}{chr(10).join(rows)}\n{count}\n## Types\n\nElements: {types}. {views}"
        "`gather_scatter_view`, `token`: text, bytecode and verifier, each from the version that introduced it.\n\n"
        "## Attributes\n\n| enumeration | members and codes |\n|---|---|\n" + "\n".join(lines) + "\n\n"
        "Besides: `div_by`, `same_elements`, `bounded`, `optimization_hints`, dense literals, symbols, arrays.\n"
    )


if __name__ == "__main__":
    sys.exit(publish(OUTPUT, page()))
