"""Changes by hand, of what operators do not reach: descriptors, addresses, fragments, coordinates, parities in loops.

Each names a kernel, a pattern, which of its matches to change, and the replacement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.runtime.mutations.operators import Mutant
from tests.runtime.triton_launch import ptx_of

OPERATOR = "by hand"


@dataclass(frozen=True)
class Change:
    """Replace match number `which` (negative from the end) of a pattern."""

    kernel: str
    what: str
    pattern: str
    replacement: str
    which: int = 0

    def mutant(self, number: int) -> Mutant:
        """The changed kernel; number: of the change among those at its line."""
        text = ptx_of(self.kernel)
        match = list(re.finditer(self.pattern, text))[self.which]
        changed = text[: match.start()] + match.expand(self.replacement) + text[match.end() :]
        assert changed != text
        return Mutant(self.kernel, OPERATOR, text.count("\n", 0, match.start()) + 1, number, self.what, changed)


HOPPER, AMPERE, BLACKWELL, CONSUMER = (
    "gemm_descriptors.sm_90", "gemm_pointers.sm_80", "gemm_specialised.sm_100", "gemm_specialised.sm_120"
)  # fmt: skip
DESCRIPTOR = 4611686293305294848  # wgmma: 128-byte swizzle, 1024 bytes between groups of 8 rows
WORD = 1073758272  # the upper half of the same for tcgen05
CHANGES = [
    # TMA and wgmma
    Change(HOPPER, "swizzle of a descriptor", f"{DESCRIPTOR}", f"{DESCRIPTOR ^ (3 << 62)}"),
    Change(HOPPER, "stride of a descriptor", f"{DESCRIPTOR}", f"{DESCRIPTOR + (64 << 32)}"),
    Change(HOPPER, "advance along K", r"(add\.s32 \t%r45, %r43, )2;", r"\g<1>4;"),
    Change(HOPPER, "advance along K of the other operand", r"(add\.s32 \t%r54, %r44, )4;", r"\g<1>2;"),
    Change(HOPPER, "second half of the rows", r"(add\.s32 \t%r50, %r43, )512;", r"\g<1>256;"),
    Change(HOPPER, "nothing expected", r"@%p4 mbarrier\.arrive\.expect_tx[^;]*;", ""),
    Change(HOPPER, "parity that never changes", r"(try_wait\.parity\S* complete, \[%r27\], )%r153;", r"\g<1>0;"),
    Change(HOPPER, "parity flips too late", r"setp\.gt\.s32 \t%p32, %r36, 2;", "setp.gt.s32 \t%p32, %r36, 3;"),
    Change(HOPPER, "a copy is missing", r"@%p6 cp\.async\.bulk\.tensor[^;]*;", ""),
    Change(HOPPER, "a copy to the wrong stage", r"(add\.s32 \t%r35, %r33, )49152;", r"\g<1>32768;"),
    Change(HOPPER, "coordinates exchanged", r"\{%r34, %r62\}", "{%r62, %r34}"),
    Change(HOPPER, "swizzle of the store", r"(xor\.b32 \t%r142, %r140, )32;", r"\g<1>16;"),
    Change(HOPPER, "fragment registers of the store", r"\{%r67, %r68, %r69, %r70\}", "{%r68, %r67, %r69, %r70}"),
    # cp.async, ldmatrix and mma.sync
    Change(AMPERE, "a copy is missing", r"cp\.async\.cg[^;]*;", ""),
    Change(AMPERE, "fragments of A exchanged", r"(mma\.sync\S* \{[^}]*\}, \{ )(%r\d+), (%r\d+)", r"\1\3, \2", 5),
    Change(AMPERE, "fragments of B exchanged", r"(mma\.sync\S* (?:\{[^}]*\}, ){2}\{ )(%r\d+), (%r\d+)", r"\1\3, \2", 9),
    Change(AMPERE, "results exchanged", r"(mma\.sync\S* \{ )(%r\d+), (%r\d+)", r"\1\3, \2", 70),
    Change(AMPERE, "matrices of the wrong rows", r"(ldmatrix\.sync\S* \{[^}]*\}, \[%r\d+\+)4096\]", r"\g<1>8192]"),
    Change(AMPERE, "not transposed", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.trans", "ldmatrix.sync.aligned.m8n8.x4"),
    Change(AMPERE, "swizzle of an address", r"(xor\.b32 \t%r20, )%r151, %r153;", r"\g<1>%r151, 0;"),
    # tcgen05
    Change(BLACKWELL, "stride of a descriptor", f"{WORD}", f"{WORD + 64}"),
    Change(BLACKWELL, "swizzle of a descriptor", f"{WORD}", f"{WORD ^ (6 << 29)}", 1),
    Change(BLACKWELL, "shape in the instruction descriptor", r"136314896", f"{136314896 - (8 << 17)}", 1),
    Change(BLACKWELL, "type in the instruction descriptor", r"136314896", f"{136314896 | (1 << 7)}", 1),
    Change(BLACKWELL, "advance along K", r"(add\.s32 \t%r61, %r56, )4;", r"\g<1>6;"),
    Change(BLACKWELL, "overwrites the sum", r"mov\.pred \t%p20, -1;", "mov.pred \t%p20, 0;"),
    Change(BLACKWELL, "parity that never changes", r"(try_wait\.parity\S* complete, \[%r45\], )%r448;", r"\g<1>0;"),
    Change(BLACKWELL, "reads results too early", r"(try_wait\.parity\S* complete, \[%r68\], )%r71;", r"\g<1>1;"),
    Change(BLACKWELL, "lanes of another warp", r"(shl\.b32 \t%r215, %r214, )21;", r"\g<1>20;"),
    Change(BLACKWELL, "swizzle of the store", r"(xor\.b32 \t%r422, %r420, )16;", r"\g<1>32;"),
    # warp roles with mma.sync
    Change(CONSUMER, "results exchanged", r"(mma\.sync\S* \{ )(%r\d+), (%r\d+)", r"\1\3, \2", 3),
    # shuffles, scans, atomics
    Change("softmax.sm_90", "a lane mask twice", r"(shfl\.sync\.bfly\.b32 \t%r\d+, %r\d+, )8,", r"\g<1>16,"),
    Change("softmax.sm_90", "a lane mask of the sum", r"(shfl\.sync\.bfly\.b32 \t%r\d+, %r\d+, )1,", r"\g<1>2,", -1),
    Change("scan.sm_80", "distance of a shuffle", r"(shfl\.sync\.up\.b32 \t%r\d+, %r\d+, )2,", r"\g<1>3,"),
    Change("histogram.sm_90", "not atomic in effect", r"(atom\.global\S*)\.add\.(u32|s32)", r"\1.max.\2"),
]  # fmt: skip


def changes_of(kernel: str) -> Iterator[Mutant]:
    """The changes of a kernel; those that share a line are numbered."""
    seen: dict[int, int] = {}
    for change in CHANGES:
        if change.kernel == kernel:
            line = change.mutant(0).line
            yield change.mutant(seen.get(line, 0))
            seen[line] = seen.get(line, 0) + 1
