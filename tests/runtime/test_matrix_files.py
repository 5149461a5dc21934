"""The sample kernels next to the repository: every matrix instruction decodes, and the hazardous ones are caught."""

from pathlib import Path

import numpy as np
import pytest

from ptxsim import (
    GlobalMemory,
    HazardError,
    ParseError,
    SimulatorError,
    UnknownOpcodeError,
    UnsupportedModifierError,
    launch,
)
from ptxsim.parser import parse

OWN = Path(__file__).parent / "data" / "ptx"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "ptx"
MATRIX = ("02", "03", "04", "05", "16", "17", "18", "19", "20", "26")
FILES = {path.name: path for folder in (OWN, SHARED) for path in sorted(folder.glob("*.ptx"))}
ENTRIES = [
    (name, entry)
    for name, path in FILES.items()
    if name.startswith(MATRIX)
    for entry in parse(path.read_text()).entries
]


def run(text: str, entry: str, hazards: bool = False) -> None:
    """Launch an entry on memory full of noise; its block and cluster as it asks for them."""
    kernel = parse(text).entries[entry]
    block = (*kernel.directives.get("reqntid", (32,)), 1, 1)[:3]
    cluster = (*kernel.directives.get("reqnctapercluster", (1,)), 1, 1)[:3]
    memory = GlobalMemory()
    buffer = memory.put(np.random.default_rng(0).integers(0, 50, 1 << 19).astype(np.uint8))
    args = [
        bytes(parameter.size) if parameter.is_array else (buffer if parameter.size == 8 else 64)
        for parameter in kernel.parameters
    ]
    launch(text, cluster, block, args, memory, cluster=cluster, entry=entry, hazards=hazards, max_blocks=20000)


@pytest.mark.parametrize(("file", "entry"), ENTRIES)
def test_every_form_decodes(file: str, entry: str) -> None:
    """What the kernels need at run time is not in the file, so an error there says that decoding went well."""
    try:
        run(FILES[file].read_text(), entry)
    except (ParseError, UnknownOpcodeError, UnsupportedModifierError) as problem:
        pytest.fail(str(problem))
    except SimulatorError:
        assert file.startswith(("04", "05", "17", "18", "19", "20"))


REJECTED = {
    "wgmma_nofence": "no wgmma.fence",
    "wgmma_nowait": "in flight|nothing has written",
    "tcgen05_ld_nowait": "nothing has written|tcgen05.wait::ld",
}
FOUND = [name for name in REJECTED if (SHARED / "rejected" / f"{name}.ptx").exists()]


@pytest.mark.parametrize("name", FOUND)
def test_hazardous_kernels_are_caught(name: str) -> None:
    text = (SHARED / "rejected" / f"{name}.ptx").read_text()
    with pytest.raises(HazardError, match=REJECTED[name]):
        run(text, next(iter(parse(text).entries)), hazards=True)
