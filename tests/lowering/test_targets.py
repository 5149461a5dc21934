import pytest

from ir.core import TileError
from lowering.targets import ALL_TARGETS, Feature, Limit, Rate, TargetError, target


def test_known_names():
    assert list(ALL_TARGETS) == ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"]
    assert target("sm_90a").name == "sm_90a"


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(TargetError, match=r"unknown target 'sm_70'\n  hint: choose one of sm_80, .*sm_120a") as error:
        target("sm_70")
    assert isinstance(error.value, TileError)


@pytest.mark.parametrize(
    ("name", "kib"),
    [
        ("sm_80", 163),
        ("sm_86", 99),
        ("sm_89", 99),
        ("sm_90a", 227),
        ("sm_100a", 227),
        ("sm_103a", 227),
        ("sm_120a", 99),
    ],
)
def test_shared_memory_of_a_cta(name, kib):
    """Source: ptx.md section 1, dynamic shared memory."""
    assert target(name).smem_bytes == kib * 1024


@pytest.mark.parametrize("found", ALL_TARGETS.values(), ids=str)
def test_every_number_carries_its_source(found):
    numbers = [getattr(found, slot) for slot in found.__slots__]
    for record in (found.throughput, found.latency):
        numbers += [getattr(record, slot) for slot in record.__slots__]
    numbers += list(found.throughput.tensor.values())
    numbers = [n for n in numbers if isinstance(n, int | float)]
    assert len(numbers) >= 20
    assert all(isinstance(n, Limit | Rate) and len(n.source) > 8 for n in numbers)


def test_features_follow_the_acceptance_table():
    """Source: ptx.md section 2."""
    having = {feature: {t.name for t in ALL_TARGETS.values() if t.has(feature)} for feature in Feature}
    everywhere = set(ALL_TARGETS)
    assert having[Feature.CP_ASYNC] == having[Feature.LDMATRIX] == having[Feature.MMA_SYNC] == everywhere
    assert having[Feature.MMA_FP8] == everywhere - {"sm_80", "sm_86"}
    assert having[Feature.STMATRIX] == having[Feature.TMA] == everywhere - {"sm_80", "sm_86", "sm_89"}
    assert having[Feature.ATOMIC_BF16] == having[Feature.TMA]
    assert having[Feature.WGMMA] == {"sm_90a"}
    assert having[Feature.TCGEN05] == having[Feature.REDUX_F32] == {"sm_100a", "sm_103a"}
    assert having[Feature.TCGEN05_LD_RED] == {"sm_103a"}
    assert having[Feature.MMA_BLOCK_SCALE] == {"sm_120a"}
    assert having[Feature.F32X2] == {"sm_100a", "sm_103a", "sm_120a"}
