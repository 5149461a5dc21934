"""Writes the frozen bytecode next to this file, and its text as NVIDIA's disassembler prints it.

13.1 prints as 13.2 does and 13.3 as 13.4, so only the text of 13.2 and 13.4 is kept.
Run from the repository root, so that the recorded source paths are relative:
    python tests/data/bytecode/regenerate.py PATH_OF_TILEIRDISASM
"""

import runpy
import subprocess
import sys
from pathlib import Path

HERE = Path("tests/data/bytecode")
EXAMPLES = Path("examples/cutile")
VERSIONS = ("13.1", "13.2", "13.3", "13.4")
TEXT_OF = {"13.1": "13.2", "13.2": "13.2", "13.3": "13.4", "13.4": "13.4"}


def exports():
    """(name, function of output path and version) of every kernel."""
    for name in ("gemm", "gemm_negated", "softmax", "layernorm", "flash_attention"):
        yield name, runpy.run_path(str(EXAMPLES / f"{name}.py"))["export"]
    vecadd = runpy.run_path(str(EXAMPLES / "vecadd.py"))["export"]
    for form in ("ptr", "view"):
        yield f"vecadd_{form}", lambda path, version, form=form: vecadd(path, version, form)
    many = runpy.run_path(str(HERE / "many_ops.py"))["export"]
    for name in ("floats", "integers", "control", "shapes"):
        yield name, lambda path, version, name=name: many(name, path, version)


def main(disassembler: str) -> None:
    sys.path.insert(0, str(EXAMPLES))
    for name, export in exports():
        texts: list[str] = []
        for version in VERSIONS:
            path = HERE / f"{name}.{version}.tileirbc"
            export(str(path), version)
            text = subprocess.run([disassembler, path], check=True, capture_output=True, text=True).stdout
            kept = HERE / f"{name}.{TEXT_OF[version]}.mlir"
            if kept.name.removesuffix(".mlir").endswith(version):
                kept.write_text(text)
            texts.append(text)
        if texts[0] != texts[1] or texts[2] != texts[3]:
            raise SystemExit(f"{name}: the text differs where one file stands for two versions")


if __name__ == "__main__":
    main(*sys.argv[1:])
