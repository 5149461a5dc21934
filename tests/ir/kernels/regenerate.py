"""Writes the text of every kernel next to this file, as NVIDIA's disassembler prints it.

Run from the repository root: python -m tests.ir.kernels.regenerate PATH_OF_TILEIRDISASM
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.ir.kernels.cases import CASES
from tests.ir.kernels.running import export


def main(disassembler: str) -> None:
    with TemporaryDirectory() as folder:
        for name, each in CASES.items():
            data, _ = export(each, (13, 4))
            file = Path(folder) / "k.tileirbc"
            file.write_bytes(data)
            text = subprocess.run([disassembler, file], check=True, capture_output=True, text=True).stdout
            (Path(__file__).parent / f"{name}.mlir").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
