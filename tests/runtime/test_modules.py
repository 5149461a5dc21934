"""A module loaded once: variables that keep their values, symbols, attributes of entries, freed memory."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, LaunchError, Module, OutOfBoundsError, launch
from runtime import ptxas

PTX = """.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 calls[8];
.global .align 8 .u64 where = calls+4;
.const .align 4 .f32 factor[4] = {1.0, 2.0, 3.0, 4.0};
.shared .align 16 .b8 unused[48];
.shared .align 4 .b8 pool[64];
.func (.reg .u32 %o) step(.reg .u32 %i)
{
  .global .u32 turn = 5;
  .reg .u32 %t;
  atom.global.add.u32 %t, [turn], %i; mov.u32 %o, %t;
  ret;
}
.visible .entry scale(.param .u64 out, .param .u8 flag, .param .align 8 .b8 pair[16])
.maxntid 64, 2
{
  .reg .b64 %d, %o; .reg .b32 %n, %t; .reg .f32 %f;
  ld.param.u64 %d, [out]; mov.u32 %t, %tid.x;
  mov.u64 %o, factor; mad.wide.u32 %o, %t, 4, %o; ld.const.f32 %f, [%o];
  mul.f32 %f, %f, 0f40400000; mad.wide.u32 %o, %t, 4, %d; st.global.f32 [%o], %f;
  atom.global.add.u32 %n, [calls+4], 1;
  st.shared.u32 [pool], %n;
  ret;
}
.visible .entry count(.param .u64 out)
.reqntid 1
{
  .reg .b64 %d, %o; .reg .b32 %n, %t;
  ld.param.u64 %d, [out]; ld.global.u64 %o, [where]; ld.global.u32 %n, [%o];
  call (%t), step, (%n);
  st.global.u32 [%d], %n; st.global.u32 [%d+4], %t;
  ret;
}
"""


def test_variables_keep_their_values() -> None:
    memory = GlobalMemory()
    module = Module(PTX, memory)
    out = memory.alloc(16)
    assert module.version == (8, 0)
    assert module.target == "sm_80"
    assert module.entries == ("scale", "count")
    assert module.symbols == ("calls", "where", "factor", "step::turn")
    for turn in range(1, 4):
        factor = np.arange(4, dtype=np.float32) + turn
        module.write("factor", factor)
        module.launch((1,), (4,), [out, 1, bytes(16)], entry="scale")
        assert np.array_equal(memory.get(out, 4, np.float32), 3 * factor)
        module.launch((1,), (1,), [out], entry="count")
        assert memory.get(out, 2, np.uint32).tolist() == [4 * turn, 5 + sum(4 * n for n in range(1, turn))]
    assert module.read("calls", np.uint32).tolist() == [0, 12, 0, 0, 0, 0, 0, 0]
    module.write("calls", np.array([7, 9], np.uint32), offset=4)
    assert memory.get(module.symbol("calls").address, 8, np.uint32).tolist() == [0, 7, 9, 0, 0, 0, 0, 0]
    # `where` holds the address of the second element of `calls`
    assert module.read("where", np.uint64)[0] == module.symbol("calls").address + 4


def test_a_second_module_has_variables_of_its_own() -> None:
    memory = GlobalMemory()
    first, second = Module(PTX, memory), Module(PTX, memory)
    first.write("calls", bytes(range(32)))
    assert second.read("calls").tolist() == [0] * 32
    assert first.read("calls").tolist() == list(range(32))
    assert first.symbol("calls").address != second.symbol("calls").address


def test_launch_starts_from_the_initial_values() -> None:
    memory = GlobalMemory()
    out = memory.alloc(8)
    for _ in range(2):
        launch(PTX, (1,), (1,), [out], memory, entry="count")
        assert memory.get(out, 2, np.uint32).tolist() == [0, 5]
    assert memory.alloc(8) == memory.address(1)  # nothing is left of the launches


def test_attributes_of_an_entry() -> None:
    module = Module(PTX)
    scale, count = module.kernel("scale"), module.kernel("count")
    assert [(p.name, p.offset, p.size) for p in scale.parameters] == [("out", 0, 8), ("flag", 8, 1), ("pair", 16, 16)]
    assert scale.parameter_bytes == 32
    assert scale.max_threads == 128
    assert scale.required is None
    assert scale.static_shared == 64  # `unused` takes no room
    assert scale.const == 16
    assert scale.local == 0
    assert scale.max_registers is None
    assert count.max_threads == 1
    assert count.required == (1, 1, 1)
    assert count.static_shared == 0


def test_ptxas_counts_the_same() -> None:
    usage = ptxas.assemble(PTX, "sm_80").entries
    module = Module(PTX)
    for entry in module.entries:
        assert usage[entry].smem == module.kernel(entry).static_shared


def test_refused() -> None:
    memory = GlobalMemory()
    module = Module(PTX, memory)
    with pytest.raises(LaunchError, match="no variable `factors`; its variables are: calls, where, factor, step::turn"):
        module.symbol("factors")
    with pytest.raises(LaunchError, match="16 bytes at byte 4 of variable `factor`, which has 16"):
        module.write("factor", np.zeros(4, np.float32), offset=4)
    with pytest.raises(LaunchError, match="variable `step::turn` has 4 bytes, not elements of 8"):
        module.read("step::turn", np.float64)
    with pytest.raises(LaunchError, match="name the entry to launch"):
        module.kernel()
    module.unload()
    with pytest.raises(LaunchError, match="the module has been unloaded"):
        module.launch((1,), (1,), [0], entry="count")
    with pytest.raises(LaunchError, match="the module has been unloaded"):
        module.read("calls")
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    with pytest.raises(LaunchError, match=r"line 4.*`far` is defined in another module"):
        Module(head + ".extern .global .u32 far;", memory)
    with pytest.raises(LaunchError, match="the initial value of `a` names `b`, which is not in global memory"):
        Module(head + ".shared .u32 b;\n.global .u64 a = b;", memory)
    assert memory.alloc(4) == memory.address(0)


def test_freed_memory() -> None:
    memory = GlobalMemory()
    first = memory.put(np.arange(100, dtype=np.int32))
    second = memory.put(np.arange(10, dtype=np.int32))
    memory.free(first)
    third = memory.alloc(64)  # takes the place of the first, at addresses of its own
    assert third not in (first, second)
    assert memory.physical[2] == memory.physical[0]
    assert memory.get(third, 64, np.uint8).tolist() == [0xFF] * 64
    assert memory.get(second, 10, np.int32).tolist() == list(range(10))
    with pytest.raises(LaunchError, match="not inside one allocation"):
        memory.get(first, 1, np.int32)
    for bad in (first, second + 4, 12):
        with pytest.raises(LaunchError, match=f"free of {bad:#x}, which is not the start of an allocation"):
            memory.free(bad)
    module = Module(PTX, memory)
    with pytest.raises(OutOfBoundsError, match="byte 0 of allocation 0, which is freed"):
        module.launch((1,), (4,), [first, 1, bytes(16)], entry="scale")


def test_freed_memory_is_used_again() -> None:
    memory = GlobalMemory()
    rng = np.random.default_rng(0)
    live: dict[int, np.ndarray] = {}
    for _ in range(300):
        if live and rng.random() < 0.5:
            address = int(rng.choice(list(live)))
            expected = live.pop(address)
            assert np.array_equal(memory.get(address, expected.shape, np.uint8), expected)
            memory.free(address)
        else:
            values = rng.integers(0, 256, int(rng.integers(0, 3000)), dtype=np.uint8)
            live[memory.put(values)] = values
    for address, values in live.items():
        assert np.array_equal(memory.get(address, values.shape, np.uint8), values)
    assert memory.arena.size < 300 * 3000 // 2
    for address in live:
        memory.free(address)
    assert memory.physical[memory.started_at(memory.alloc(10)) or 0] == 0
