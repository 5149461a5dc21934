from itertools import product

import pytest

from ir.types import BF16, F8E4M3FN, F8E8M0FNU, F16, F32, I8, I32, TF32
from lowering.atoms import copy, mma
from lowering.atoms.mma import FMA_F32, MMA_ATOMS, MMA_M16N8K16_F16, Fragment, MmaAtom, atoms_for, scaled_atoms
from lowering.layouts.mma import mma_tile
from lowering.targets import ALL_TARGETS, Feature, target


def test_registers_of_the_operands():
    assert MMA_M16N8K16_F16.operand_registers == (4, 2, 4)
    assert mma.MMA_M16N8K8_TF32.operand_registers == (4, 2, 4)
    assert mma.MMA_M16N8K32_E4M3.operand_registers == (4, 2, 4)


def test_cycles_follow_from_the_rate_of_the_target():
    assert MMA_M16N8K16_F16.cycles(target("sm_80")) == 2 * 16 * 8 * 16 / 2048
    assert FMA_F32.cycles(target("sm_80")) == 0.5
    assert FMA_F32.flops == 64
    per_flop = [atom.cycles(target("sm_80")) / atom.flops for atom in (MMA_M16N8K16_F16, FMA_F32)]
    assert per_flop[1] == 16 * per_flop[0]


@pytest.mark.parametrize("found", ALL_TARGETS.values(), ids=str)
def test_every_legal_atom_has_a_cost(found):
    for atom in (*MMA_ATOMS, *copy.COPY_ATOMS):
        if atom.legal(found):
            assert atom.cycles(found) > 0


def test_atoms_are_chosen_by_type_and_target():
    assert [a.shape for a in atoms_for(target("sm_80"), F16, F16, F32)] == [(16, 8, 16), (16, 8, 8)]
    assert atoms_for(target("sm_80"), BF16, BF16, F32)[0].ptx == ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    assert atoms_for(target("sm_80"), TF32, TF32, F32)[0].shape == (16, 8, 8)
    assert atoms_for(target("sm_80"), F8E4M3FN, F8E4M3FN, F32) == []
    assert [a.shape for a in atoms_for(target("sm_89"), F8E4M3FN, F8E4M3FN, F32)] == [(16, 8, 32), (16, 8, 16)]
    assert atoms_for(target("sm_86"), F32, F32, F32) == [FMA_F32]
    assert [a.name for a in atoms_for(target("sm_80"), F16, F16, F16)] == [
        "mma.sync.m16n8k16.f16.f16.f16",
        "mma.sync.m16n8k8.f16.f16.f16",
        "fma.rn.f32.f16",
    ]
    assert {a.signed for a in atoms_for(target("sm_80"), I8, I8, I32) if a.threads > 1} == set(
        product((True, False), repeat=2)
    )


def test_scalar_atoms_widen_their_operands_and_keep_the_sum():
    assert FMA_F32.computes(BF16, F32, (True, True))
    assert not FMA_F32.computes(F16, F16, (True, True))
    unsigned = next(a for a in MMA_ATOMS if a.name == "mad.lo.s32.u8.s8")
    assert unsigned.computes(I8, I32, (False, True))
    assert not unsigned.computes(I8, I32, (True, True))
    assert not FMA_F32.computes(I8, F32, (True, True))
    assert unsigned.cycles(target("sm_80")) == 32 / 64


def test_a_fragment_that_does_not_fill_the_operand_is_refused():
    bad = Fragment(((0, 1),) * 5, ())
    with pytest.raises(ValueError, match="holds 32 of 16x16"):
        MmaAtom("bad", (16, 8, 16), (F16, F16, F32), frozenset(), bad, bad, bad, "bad", "none")


def test_names_are_unique_and_mnemonics_follow_ptx():
    names = [atom.name for atom in (*MMA_ATOMS, *copy.COPY_ATOMS)]
    assert len(names) == len(set(names))
    assert copy.LOADS_GLOBAL[16].ptx == "ld.global.v4.b32"
    assert copy.STORES_SHARED[2].ptx == "st.shared.b16"
    assert copy.LDMATRIX[4, True].ptx == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
    assert copy.CP_ASYNC[16].ptx == "cp.async.cg.shared.global"
    assert copy.CP_ASYNC[8].ptx == "cp.async.ca.shared.global"


def test_stmatrix_needs_its_feature():
    atom = copy.STMATRIX[4, False]
    assert atom.features == {Feature.STMATRIX}
    assert not atom.legal(target("sm_89"))
    assert atom.legal(target("sm_90a"))


def test_shared_cost_follows_the_bytes():
    sm80 = target("sm_80")
    assert copy.LDMATRIX[4, False].cycles(sm80) == 4
    assert copy.LOADS_SHARED[4].cycles(sm80) == 1
    assert copy.LOADS_SHARED[16].cycles(sm80) == 4
    assert copy.SHUFFLES["bfly"].cycles(sm80) == 1


def test_scales_lie_where_the_instruction_reads_them() -> None:
    """PTX ISA, mma with .block_scale, selector 0: A's row in the first two lanes of a quad, B's column in the first."""
    atom = scaled_atoms((F8E4M3FN, F8E4M3FN, F32), F8E8M0FNU, 32)[0]
    tile = mma_tile(atom, 16, 8, 128, 1, 1)
    a, b = tile.scales
    for lane in range(32):
        for register in range(4):
            assert a.element(register, lane, 0) == (lane // 4 + 8 * (lane % 2)) * 4 + register
            assert b.element(register, lane, 0) == register * 8 + lane // 4
    assert [step.scales for step in tile.steps()] == [(k, k) for k in range(4)]
    assert scaled_atoms((F8E4M3FN, F8E4M3FN, F32), F8E8M0FNU, 16) == []
    assert atom not in atoms_for(target("sm_120a"), F8E4M3FN, F8E4M3FN, F32)
