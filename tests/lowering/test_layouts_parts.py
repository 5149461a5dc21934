"""Layouts of parts and of scans, against what they say about every element."""

import numpy as np
import pytest

from lowering.layouts.anchors import coalesced
from lowering.layouts.layout import Layout
from lowering.layouts.prefixes import Part, prefix_dim
from lowering.layouts.shapes import layout_of_part, layout_of_whole, part_registers

CASES = [((8, 16), (32, 64)), ((1, 64), (64, 64)), ((32, 32), (32, 128)), ((4, 8, 2), (8, 8, 16)), ((16,), (16,))]


def elements(shape: tuple[int, ...], layout: Layout) -> np.ndarray:
    """Index tuples of every (thread, register): [threads, registers, rank]."""
    return np.stack(np.unravel_index(layout.element_map(), shape), -1)


@pytest.mark.parametrize(("part", "whole"), CASES)
@pytest.mark.parametrize("warps", [4, 8])
def test_threads_hold_the_same_share_of_every_part(part, whole, warps) -> None:
    small = coalesced(part, len(part) - 1, 4, warps)
    large = layout_of_whole(part, whole, small)
    assert large.covers()
    counts = [w // p for w, p in zip(whole, part, strict=True)]
    inside, outside = elements(part, small), elements(whole, large)
    for number, registers in enumerate(part_registers(part, whole, small, large)):
        corner = np.array(np.unravel_index(number, counts)) * part
        assert (outside[:, registers] == inside + corner).all()


@pytest.mark.parametrize(("part", "whole"), CASES)
def test_layout_of_a_part_is_the_inverse(part, whole) -> None:
    small = coalesced(part, len(part) - 1, 4, 4)
    large = layout_of_whole(part, whole, small)
    assert layout_of_part(part, whole, large) == small
    turned = Layout(large.reg[::-1], large.lane, large.warp, large.bits)
    found = layout_of_part(part, whole, turned)
    assert found is not None
    assert sorted(found.reg) == sorted(small.reg)


def test_parts_that_threads_share_have_no_layout() -> None:
    assert layout_of_part((1, 64), (64, 64), coalesced((64, 64), 1, 4, 4)) is None


@pytest.mark.parametrize(("shape", "dim"), [((1024,), 0), ((32, 64), 0), ((32, 64), 1), ((4, 32, 16), 1), ((8,), 0)])
def test_scan_steps_reach_the_sibling_block(shape, dim) -> None:
    """Flipping the bit of a step flips that bit of every element's index, so partners hold sibling blocks."""
    layout = coalesced(shape, len(shape) - 1, 4, 4)
    plan = prefix_dim(shape, dim, layout)
    assert plan is not None
    assert len(plan.steps) == shape[dim].bit_length() - 1
    found = layout.element_map()
    threads, registers = np.arange(found.shape[0]), np.arange(found.shape[1])
    for step in plan.steps:
        shift = {Part.REGISTER: 0, Part.LANE: 0, Part.WARP: 5}[step.part]
        if step.part is Part.REGISTER:
            partner = found[:, registers ^ (1 << step.bit)]
        else:
            partner = found[threads ^ (1 << step.bit + shift)]
        assert (partner == found ^ (1 << step.element)).all()


def test_scan_has_no_plan_where_a_bit_belongs_to_no_one_number() -> None:
    """Lanes that hold rotated rows: a coordinate's bit is the sum of two bits of the lane number."""
    plain = coalesced((32, 4), 1, 4, 4, 4)
    first, second, *rest = plain.lane
    mixed = Layout(plain.reg, (first, second, rest[0] ^ rest[1], *rest[1:]), plain.warp, plain.bits)
    assert prefix_dim((32, 4), 0, plain) is not None
    assert prefix_dim((32, 4), 0, mixed) is None
