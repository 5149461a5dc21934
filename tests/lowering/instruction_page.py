"""Makes docs/instructions.md from the declarations: python -m tests.lowering.instruction_page [--check]."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from ir.dialects import nvvm
from ir.instruction import Instruction, placed
from lowering.targets import ALL_TARGETS
from tests.generated_page import publish
from tests.lowering.instruction_kernels import instructions

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "docs/instructions.md"
HEAD = """# Instructions

Made by `python -m tests.lowering.instruction_page` from the declarations in ir/dialects/nvvm; do not edit. Each is
declared once, and its verifier, generic text, PTX, this page and its tests derive from that (docs/how-to-add-an-op.md).
`tests/lowering/test_instructions.py` assembles every form with ptxas on every tier that has it, and expects ptxas and
the verifier to refuse it on every other; the slow tests find by ptxas that the version of PTX is the least.

All have one name at the levels nvgpu and nvvm; the seeds' name, where it is another, is below it. "Used by" names the
part of the compiler that makes it; "from text only" is an instruction that nothing chooses: a file of level nvgpu or
nvvm may hold it (`tilesat compile k.nvvm`).

"""
MAKERS = {
    "convert/tileas_to_nvgpu": "tileas-to-nvgpu", "atoms": "tileas-to-nvgpu", "convert/nvgpu_to_nvvm": "nvgpu-to-nvvm",
}  # fmt: skip
"""Folders whose modules name the instructions that a conversion makes; the atoms are those of placed operations."""


def users(cls: type[Instruction]) -> str:
    """Conversions that name the class, `from text only` where none does."""
    name = "SPECIAL_REGISTERS" if issubclass(cls, nvvm.SpecialRegister) else cls.__name__
    word = re.compile(rf"\bnvvm\.{name}\b")
    found: dict[str, None] = {}
    for folder, conversion in MAKERS.items():
        if any(word.search(path.read_text()) for path in (ROOT / "lowering" / folder).glob("*.py")):
            found[conversion] = None
    return ", ".join(found) or "from text only"


def cell(text: str) -> str:
    """Text inside a table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("{{", "{").replace("}}", "}")


def spelled(cls: type[Instruction]) -> str:
    """The PTX text with its holes, in code."""
    return " ".join(f"`{cell(line)}`" for line in placed(cls, next(cls.forms())).text.split("\n"))


def floors(cls: type[Instruction]) -> str:
    """What its forms need, and on how many tiers."""
    found = {placed(cls, form).needs() for form in cls.forms()}
    return "; ".join(sorted(f"{needs}, PTX {needs.ptx[0]}.{needs.ptx[1]}" for needs in found))


def row(cls: type[Instruction]) -> str:
    """One line of the table."""
    name = f"`{cls.info.name}`" + (f"<br>seeds: `{cls.seed}`" if cls.seed else "")
    meaning = cell(" ".join((cls.__doc__ or "").split("\n\n")[0].split()))
    count = len(list(cls.forms()))
    return f"| {name} | {meaning} | {spelled(cls)} | {floors(cls)} | {count} | {users(cls)} | {cell(cls.reference)} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    by_file: dict[str, list[type[Instruction]]] = {}
    for cls in instructions():
        by_file.setdefault(cls.__module__, []).append(cls)
    for module, classes in sorted(by_file.items()):
        title = (sys.modules[module].__doc__ or "").split("\n")[0].rstrip(".")
        parts += [f"## {title}\n\n", table(classes), "\n"]
    parts.append(f"{len(instructions())} instructions; tiers: {', '.join(ALL_TARGETS)}.\n")
    return "".join(parts)


def table(classes: Iterable[type[Instruction]]) -> str:
    """The table of one file."""
    head = "| Instruction | Meaning | PTX | Needs | Forms | Used by | Source |\n|---|---|---|---|---|---|---|\n"
    return head + "".join(row(cls) + "\n" for cls in classes)


if __name__ == "__main__":
    sys.exit(publish(OUTPUT, page()))
