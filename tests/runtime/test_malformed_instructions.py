"""Instructions with modifiers and operands exchanged at random: refused with a located error, or simulated."""

import random
import re
from collections import Counter

import numpy as np

from ptxsim import GlobalMemory, LaunchError, SimulatorError, launch
from tests.runtime.test_gemm_ptx import DATA

STATEMENT = re.compile(r"(?:^|;)\s*((?:@!?%\w+ )?[a-z]\w*(?:\.[\w:]+)+\s+[^;]*;)", re.MULTILINE)
OPERANDS = [
    "%r1",
    "%r2",
    "%rd1",
    "%rd2",
    "%f1",
    "%d1",
    "%h1",
    "%p1",
    "!%p1",
    "%q1",
    "%b1",
    "%tid.x",
    "%clock64",
    "5",
    "0",
]
OPERANDS += ["-1", "0x80", "0f3F800000", "buffer", "buffer+4", "{%r1,%r2}", "{%r1,%r2,%r3,%r4}", "{}", "_", "%r1|%p1"]
OPERANDS += ["[%rd1]", "[%r1]", "[buffer+16]", "nowhere"]
FRAME = """.version 8.8
.target sm_90
.address_size 64
.shared .align 16 .b8 buffer[4096];
.visible .entry k(.param .u64 a)
{{
  .reg .b32 %r<200>, %a<9>, %b<9>, %c<9>, %lane; .reg .b64 %rd<200>; .reg .f32 %f<200>; .reg .f64 %d<9>, %fd<90>;
  .reg .b16 %h<90>, %rs<90>; .reg .pred %p<90>; .reg .b128 %q<3>;
  ld.param.u64 %rd1, [a]; mov.u32 %r1, buffer; mov.u32 %r2, %tid.x; mov.u64 %rd2, %rd1; mov.b32 %f1, %r2;
  setp.lt.u32 %p1, %r2, 7; mov.b16 %h1, 7; mov.b64 %d1, %rd1;
  {code}
  ret;
}}"""


def _mutate(rng: random.Random, statement: str, modifiers: list[str]) -> str:
    choice = rng.random()
    if choice < 0.3:
        return re.sub(
            r"\.(\w+)", lambda m: "." + rng.choice(modifiers) if rng.random() < 0.4 else m.group(), statement, count=3
        )
    if choice < 0.4:
        return statement.replace(" ", f".{rng.choice(modifiers)} ", 1)
    if choice < 0.8:
        tokens = re.split(r"([%\w.|!+-]+)", statement)
        tokens[rng.randrange(1, len(tokens), 2)] = rng.choice(OPERANDS)
        return "".join(tokens)
    return statement.replace(";", f", {rng.choice(OPERANDS)};") if choice < 0.9 else re.sub(r",[^,]*;", ";", statement)


def test_random_instructions_never_end_in_a_traceback() -> None:
    texts = [path.read_text() for path in sorted(DATA.parent.glob("*/*.ptx"))]
    statements = sorted({found for text in texts for found in STATEMENT.findall(text)})
    modifiers = sorted({part for text in statements for part in text.replace("@", "").split()[0].split(".")[1:]})
    rng = random.Random(11)
    outcomes: Counter[str] = Counter()
    for _ in range(1500):
        code = _mutate(rng, rng.choice(statements), modifiers)
        memory = GlobalMemory()
        address = memory.put(np.arange(1024, dtype=np.uint32))
        try:
            launch(FRAME.format(code=code), (2,), (64,), [address], memory, hazards=rng.random() < 0.1, max_blocks=100)
            outcomes["ran"] += 1
        except SimulatorError as error:
            located = error.line is not None or isinstance(error, LaunchError)
            outcomes[type(error).__name__ if located else f"no line: {error}"] += 1
    assert not [outcome for outcome in outcomes if outcome.startswith("no line")]
    assert outcomes["ran"] > 50
    assert outcomes["OperandError"] > 50
    assert outcomes["UnsupportedModifierError"] > 50
