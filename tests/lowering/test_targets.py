from dataclasses import replace
from pathlib import Path

import pytest

import tilesat
from ir.core import TileError
from lowering.targets import ALL_TARGETS, Feature, Limit, Rate, TargetError, target
from lowering.targets.features import FLOORS
from runtime.ptxas import PtxasError, assemble

PLAIN = ("sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
"""Without the architecture-specific instructions: their PTX runs on every later tier."""

OWN = ("sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
"""With them: their PTX runs on that tier alone."""

FAMILY = ("sm_100f", "sm_103f", "sm_110f", "sm_120f", "sm_121f")
"""With those that all tiers of a family have from this one on: their PTX runs on each of these."""

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_known_names():
    hopper, *later = zip(PLAIN, OWN, strict=True)
    triples = [name for pair, family in zip(later, FAMILY, strict=True) for name in (*pair, family)]
    assert list(ALL_TARGETS) == ["sm_80", "sm_86", "sm_89", *hopper, *triples]
    assert target("sm_90a").name == "sm_90a"


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(TargetError, match=r"unknown target 'sm_70'\n  hint: choose one of sm_80, .*sm_120a") as error:
        target("sm_70")
    assert isinstance(error.value, TileError)


@pytest.mark.parametrize("name", ALL_TARGETS)
def test_shared_memory_of_a_cta(name):
    """Source: ptx.md section 1, dynamic shared memory."""
    kib = 163 if name == "sm_80" else 99 if name in ("sm_86", "sm_89") or name.startswith("sm_12") else 227
    assert target(name).smem_bytes == kib * 1024


@pytest.mark.parametrize("found", ALL_TARGETS.values(), ids=str)
def test_every_number_carries_its_source(found):
    numbers = [getattr(found, slot) for slot in found.__slots__ if not slot.startswith("asked_")]  # a kernel's wishes
    for record in (found.throughput, found.latency):
        numbers += [getattr(record, slot) for slot in record.__slots__]
    numbers += list(found.throughput.tensor.values())
    numbers = [n for n in numbers if isinstance(n, int | float)]
    assert len(numbers) >= 20
    assert all(isinstance(n, Limit | Rate) and len(n.source) > 8 for n in numbers)


def test_features_follow_the_acceptance_table():
    """Source: ptx.md section 2; plain names tried likewise."""
    having = {feature: {t.name for t in ALL_TARGETS.values() if t.has(feature)} for feature in Feature}
    everywhere = set(ALL_TARGETS)
    hopper = everywhere - {"sm_80", "sm_86", "sm_89"}
    assert having[Feature.CP_ASYNC] == having[Feature.LDMATRIX] == having[Feature.MMA_SYNC] == everywhere
    assert having[Feature.MMA_FP8] == everywhere - {"sm_80", "sm_86"}
    assert having[Feature.STMATRIX] == having[Feature.TMA] == having[Feature.MBARRIER] == hopper
    assert having[Feature.ATOMIC_BF16] == having[Feature.TMA]
    assert having[Feature.MIXED] == having[Feature.F32X2]
    assert having[Feature.SETMAXNREG] == {*OWN, *FAMILY}
    assert having[Feature.WGMMA] == {"sm_90a"}
    assert having[Feature.TCGEN05] == {"sm_100a", "sm_103a", "sm_110a", *FAMILY[:3]}
    assert having[Feature.REDUX_F32] == {"sm_100a", "sm_103a", *FAMILY[:2]}
    assert having[Feature.TCGEN05_BYTES] == {"sm_100a", "sm_110a"}
    assert having[Feature.TCGEN05_LD_RED] == {"sm_103a", "sm_110a", "sm_103f", "sm_110f"}
    assert having[Feature.MMA_BLOCK_SCALE] == {"sm_120a", "sm_121a", *FAMILY[3:]}
    assert having[Feature.F32X2] == having[Feature.WIDE_GLOBAL] == hopper - {"sm_90", "sm_90a"}


def test_every_feature_has_the_floor_of_an_instruction_or_a_source() -> None:
    """And no target that has a feature prints a version of PTX that lacks it."""
    assert FLOORS.keys() == set(Feature)
    for found in ALL_TARGETS.values():
        assert all(found.ptx_version >= FLOORS[feature].ptx for feature in found.features), found.name


def test_features_follow_the_name() -> None:
    made = replace(target("sm_90a"), name="sm_90")
    assert made.features == target("sm_90").features < target("sm_90a").features


HEAD = """.version {}.{}
.target {}
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128]) .maxnreg 64 .reqntid 128, 1, 1 {{
.reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<12>; .reg .pred %p; .reg .b16 %h<4>; .shared .align 128 .b8 s[1024];
"""
INSTRUCTIONS = {
    Feature.SETMAXNREG: "setmaxnreg.inc.sync.aligned.u32 64;",
    Feature.MBARRIER: "mbarrier.try_wait.parity.shared.b64 %p, [s], %r1;",
    Feature.TMA: "mov.b64 %d1, map; cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {%r1, %r2}], [s];",
    Feature.CLUSTER: "barrier.cluster.arrive; barrier.cluster.wait;",
    Feature.STMATRIX: "stmatrix.sync.aligned.m8n8.x2.shared.b16 [s], {%r1, %r2};",
    Feature.CVT_FP8: "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    Feature.CVT_TF32: "cvt.rn.tf32.f32 %r1, %f1;",
    Feature.ATOMIC_BF16: "atom.global.add.noftz.bf16 %h1, [%d1], %h2;",
    Feature.F32X2: "fma.rn.f32x2 %d1, %d2, %d2, %d2;",
    Feature.WIDE_GLOBAL: "ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%d1];",
    Feature.MINMAX3: "max.f32 %f1, %f2, %f3, %f4;",
    Feature.REDUX_F32: "redux.sync.max.f32 %f1, %f2, 0xffffffff;",
    Feature.WGMMA: "wgmma.fence.sync.aligned;",
    Feature.TCGEN05: "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;",
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", [*PLAIN, *OWN, *FAMILY])
def test_ptxas_takes_the_instructions_of_a_target_and_no_others(name):
    found = target(name)
    for feature, code in INSTRUCTIONS.items():
        text = HEAD.format(*found.ptx_version, name) + code + "\nret;\n}\n"
        if found.has(feature):
            assemble(text, name)
        else:
            with pytest.raises(PtxasError):
                assemble(text, name)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", [*PLAIN, "sm_110a", "sm_121a", *FAMILY])
@pytest.mark.parametrize("kernel", ["gemm", "layernorm"])
def test_two_kernels_assemble_clean(kernel, name):
    """Whole programs run on one tier a family."""
    made = tilesat.compile(EXAMPLES / f"{kernel}.mlir", target=name)
    assert f".target {name}\n" in made.ptx
    cubin = assemble(made.ptx, name)
    assert cubin.spill_stores == 0
    assert not cubin.warnings
    assert not any("C75" in line for line in cubin.infos)
