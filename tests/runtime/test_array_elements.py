"""Addresses of array elements: `name[index]` and `name+bytes` in mov, cvta, ld and st, in every state space."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, OperandError, ParseError, launch
from runtime import ptxas

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
PTX = (
    HEAD
    + """
.global .align 8 .u16 halves[3][5];
.global .align 4 .u32 words[4] = {10, 20, 30, 40};
.const .align 4 .u32 fixed[4] = {1, 2, 3, 4};
.func inner(.reg .u64 %to, .reg .u32 %n)
{
  .local .align 8 .b64 frame[8];
  .reg .u64 %a, %b, %c;
  mov.u64 %a, frame; mov.u64 %b, frame[3]; sub.u64 %c, %b, %a; st.global.u64 [%to], %c;
  mov.u64 %b, frame[%n]; sub.u64 %c, %b, %a; st.global.u64 [%to+8], %c;
  cvta.local.u64 %c, frame[2]; cvta.to.local.u64 %c, %c; sub.u64 %c, %c, %a; st.global.u64 [%to+16], %c;
  ret;
}
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .shared .align 8 .b64 pool[6];
  .local .align 16 .v2 .b64 pairs[4];
  .reg .u64 %d, %a, %b, %c; .reg .u32 %n, %v;
  ld.param.u64 %d, [out]; ld.param.u32 %n, [n];
  mov.u64 %a, halves; mov.u64 %b, halves[7]; sub.u64 %c, %b, %a; st.global.u64 [%d], %c;
  mov.u64 %b, halves[%n]; sub.u64 %c, %b, %a; st.global.u64 [%d+8], %c;
  mov.u64 %b, halves+6; sub.u64 %c, %b, %a; st.global.u64 [%d+16], %c;
  mov.u64 %a, pool; mov.u64 %b, pool[4]; sub.u64 %c, %b, %a; st.global.u64 [%d+24], %c;
  mov.u64 %a, pairs; mov.u64 %b, pairs[1]; sub.u64 %c, %b, %a; st.global.u64 [%d+32], %c;
  cvta.shared.u64 %b, pool[5]; cvta.shared.u64 %a, pool; sub.u64 %c, %b, %a; st.global.u64 [%d+40], %c;
  ld.global.u32 %v, words[2]; st.global.u32 words[1], %v; st.global.u32 [%d+48], %v;
  ld.const.u32 %v, fixed[3]; st.global.u32 [%d+52], %v;
  mov.u64 %a, words[1]; ld.global.u32 %v, [%a]; st.global.u32 [%d+56], %v;
  add.u64 %c, %d, 64;
  call inner, (%c, %n);
  ret;
}
"""
)


@pytest.mark.parametrize("n", [0, 5, 7])
def test_addresses(n: int) -> None:
    memory = GlobalMemory()
    out = memory.alloc(88)
    launch(PTX, (1,), (1,), [out, n], memory)
    assert memory.get(out, 6, np.uint64).tolist() == [14, 2 * n, 6, 32, 8, 40]
    assert memory.get(out + 48, 3, np.uint32).tolist() == [30, 4, 30]
    assert memory.get(out + 64, 3, np.uint64).tolist() == [24, 8 * n, 16]


def test_ptxas_takes_them() -> None:
    ptxas.assemble(PTX, "sm_80")


def test_refused() -> None:
    body = ".visible .entry k() {{ .global .u32 w[4]; .reg .u64 %a; .reg .u32 %n; {} ret; }}"

    def attempt(statement: str) -> None:
        launch(HEAD + body.format(statement), (1,), (1,), [], GlobalMemory())

    with pytest.raises(ParseError, match=r"line 4.*`\[w\[1\]\]` is not an operand"):
        attempt("ld.global.u32 %n, [w[1]];")
    with pytest.raises(OperandError, match="an element indexed by a register needs mov first"):
        attempt("mov.u32 %n, 1; ld.global.u32 %n, w[%n];")
    with pytest.raises(OperandError, match="`v` is neither a register nor a variable"):
        attempt("mov.u64 %a, v[1];")
