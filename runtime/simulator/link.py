"""From a parsed entry to decoded code: opcode tables, guards, control flow."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from runtime.simulator.access import Site
from runtime.simulator.assigned import Use, doubtful
from runtime.simulator.control import (
    Control,
    GuardedMeeting,
    condition_of,
    decode_barrier,
    decode_branch,
    decode_branch_table,
    decode_exit,
)
from runtime.simulator.decode import Binding, Decode, Shareable, Step
from runtime.simulator.errors import UnknownOpcodeError
from runtime.simulator.families import (
    async_copy,
    atomic,
    bits,
    bulk_clear,
    call,
    cluster,
    compare,
    convert,
    fence,
    floating,
    integer,
    launch_control,
    load_store,
    matrix,
    matrix_narrow,
    mbarrier,
    misc,
    mma,
    move,
    multimem,
    packed,
    register_control,
    store_async,
    tcgen05,
    tensormap,
    warp,
    wgmma,
    wmma,
)
from runtime.simulator.hazards import Tracker
from runtime.simulator.members import watch_members
from runtime.simulator.program import Entry, Guard, Instruction, Operand, Register
from runtime.simulator.schedule import Code
from runtime.simulator.types import TYPES, Array

Decoder: TypeAlias = Callable[[Decode], Step | None]
_FAMILIES = (
    async_copy,
    atomic,
    bits,
    call,
    cluster,
    compare,
    convert,
    fence,
    integer,
    launch_control,
    load_store,
    matrix,
    matrix_narrow,
    mbarrier,
    misc,
    mma,
    move,
    multimem,
    register_control,
    tcgen05,
    tensormap,
    warp,
    wgmma,
    wmma,
)
_CONTROL = ("bra", "brx", "ret", "exit", "bar", "barrier")
# Opcodes that another family decodes where they have a certain modifier.
_BY_MODIFIER: dict[tuple[str, str], Decoder] = {
    ("st", "async"): store_async.decode_store_async,
    ("st", "bulk"): bulk_clear.decode_bulk_clear,
    ("red", "async"): store_async.decode_reduce_async,
    ("prefetch", "tensormap"): tensormap.decode_prefetch_map,
}


def _table() -> dict[str, Decoder]:
    table: dict[str, Decoder] = {}
    for family in _FAMILIES:
        for opcode, decoder in family.OPCODES.items():
            if opcode in table:
                raise UnknownOpcodeError(f"two instruction families claim the opcode `{opcode}`")
            table[opcode] = decoder
    return table


_TABLE = _table()


def link(entry: Entry, binding: Binding) -> tuple[Code, list[Site]]:
    """Decode an entry for a machine; also the memory sites, whose counts the report collects."""
    instructions = [*entry.instructions, Instruction("ret", "ret", (), [], None, entry.line, "ret;")]
    end = len(instructions)
    targets = {entry.first, *entry.labels.values(), *(one.first for one in entry.functions.values())}
    code = Code(instructions, [None] * end, [None] * end, {}, targets, entry.first)
    decoded: list[tuple[Decode, Step | None]] = []
    for pc, instruction in enumerate(instructions):
        d = Decode(binding, instruction, pc)
        decoded.append((d, _decode_one(d, entry)))
        if d.control is not None:
            code.controls[pc] = d.control
    if binding.hazards is not None:
        binding.hazards.follow(_doubtful(code, decoded, entry))
    for pc, (d, step) in enumerate(decoded):
        _place(code, pc, d, step)
    code.build_blocks()
    for block in code.blocks.values():
        _share([d for d, _ in decoded[block.first : block.last + 1]])
    return code, [d.site for d, _ in decoded if d.site is not None and d.control is None]


def _decode_one(d: Decode, entry: Entry) -> Step | None:
    """What an instruction does; the end of a basic block goes to `d.control`."""
    instruction = d.instruction
    is_warp_barrier = instruction.base == "bar" and instruction.modifiers[:1] == ("warp",)
    is_elsewhere = is_warp_barrier or instruction.modifiers[:1] == ("cluster",)
    if instruction.base in _CONTROL and not is_elsewhere:
        d.control = _control(d, d.pc, entry)
        return None
    return _decode(d, is_warp_barrier)


def _doubtful(code: Code, decoded: list[tuple[Decode, Step | None]], entry: Entry) -> list[set[int]]:
    uses: list[Use] = []
    for d, step in decoded:
        guard = d.instruction.guard
        wanted = d.reads | d.checks
        written = (
            frozenset(d.writes) if guard is None and (step is not None or d.control is not None) else frozenset[int]()
        )
        uses.append(Use(frozenset(wanted if guard is None else wanted | {guard.register.index}), written))
    starts = {entry.first, *(one.first for one in entry.functions.values())}
    return doubtful(uses, code.controls, code.leaders(), starts)


def _place(code: Code, pc: int, d: Decode, step: Step | None) -> None:
    """Put a decoded instruction into the code, guarded and, with hazards, watched."""
    instruction, tracker, guard = d.instruction, d.binding.hazards, d.instruction.guard
    if d.control is not None:
        if tracker is not None and instruction.base in _CONTROL and instruction.modifiers[:1] != ("cluster",):
            code.steps[pc] = tracker.watch(instruction, pc, None, d.reads, d.writes)
        elif tracker is not None:
            code.steps[pc] = _watched_control(tracker, d, guard)
        return
    if step is None:
        return
    if tracker is not None:
        step = _watched(tracker, d, step)
        if d.members is not None:
            step = watch_members(d.machine, instruction, step, d.members)
    code.members[pc] = d.members
    if guard is None:
        code.steps[pc] = step
        return
    condition = condition_of(d, guard)
    if d.members is not None and condition is not None:
        code.controls[pc] = GuardedMeeting(pc, pc + 1, condition, d.members, step)
        return
    step = _guarded(d, step, guard)
    code.steps[pc] = step
    if tracker is not None:
        code.steps[pc] = tracker.watch(instruction, pc, step, {guard.register.index}, set())


def _share(decoded: list[Decode]) -> None:
    """Let the instructions of a basic block share work on registers that nothing between them changes."""
    available: dict[object, Shareable] = {}
    for d in decoded:
        for work in d.shareable:
            if work.key is not None and work.key in available:
                work.share(available[work.key])
            elif work.key is not None:
                available[work.key] = work
        if d.writes:
            available = {key: work for key, work in available.items() if not work.registers & d.writes}


def _decode(d: Decode, is_warp_barrier: bool) -> Step | None:
    base = d.instruction.base
    if is_warp_barrier:
        return warp.decode_warp_barrier(d)
    # one opcode, two families: the last type decides
    decoder: Decoder | None = _TABLE.get(base)
    for modifier in d.instruction.modifiers[:2]:
        decoder = _BY_MODIFIER.get((base, modifier), decoder)
    if base in packed.OPCODES and packed.is_packed(d):
        decoder = packed.OPCODES[base]
    elif base in floating.OPCODES and (base not in integer.OPCODES or (d.types and d.types[-1].is_float)):
        decoder = floating.OPCODES[base]
    if decoder is None:
        raise d.error(UnknownOpcodeError, f"opcode `{base}` is not simulated")
    return decoder(d)


def _watched(tracker: Tracker, d: Decode, step: Step) -> Step:
    """A step that checks the registers it reads; selp reads only the operand that it selects."""
    instruction = d.instruction
    is_certain = not d.reads & tracker.followed and tracker.flights.guard(instruction, d.reads, d.writes) is None
    if instruction.base != "selp" or is_certain:
        return tracker.watch(instruction, d.pc, step, d.reads, d.writes) or step
    first, second, chosen = instruction.operands[1:4]
    predicate = d.value(chosen, TYPES["pred"])

    def of(operand: Operand) -> set[int]:
        return {operand.index} if isinstance(operand, Register) else set()

    check_first = tracker.watch(instruction, d.pc, None, of(first), set()) or _nothing
    check_second = tracker.watch(instruction, d.pc, None, of(second), set()) or _nothing
    whole = tracker.watch(instruction, d.pc, step, of(chosen), d.writes) or step
    machine = d.machine

    def selected(mask: Array | None) -> None:
        lanes = machine.live_mask() if mask is None else mask
        check_first(lanes & predicate)
        check_second(lanes & ~predicate)
        whole(mask)

    return selected


def _nothing(mask: Array | None) -> None:
    pass


def _watched_control(tracker: Tracker, d: Decode, guard: Guard | None) -> Step | None:
    """A step that checks the registers which the end of a block reads."""
    check = tracker.watch(d.instruction, d.pc, None, d.reads, d.writes)
    if guard is None:
        return check
    guarded = None if check is None else _guarded(d, check, guard)
    return tracker.watch(d.instruction, d.pc, guarded, {guard.register.index}, set())


def _control(d: Decode, pc: int, entry: Entry) -> Control:
    base = d.instruction.base
    if base == "bra":
        return decode_branch(d, pc, entry.labels)
    if base == "brx":
        return decode_branch_table(d, pc, entry.labels, entry.branch_targets)
    function = next((one for one in entry.functions.values() if one.first <= pc < one.first + one.length), None)
    if base == "ret" and function is not None:
        return call.decode_return(d, function)
    if base in ("ret", "exit"):
        return decode_exit(d, pc)
    return decode_barrier(d, pc)


def _guarded(d: Decode, step: Step, guard: Guard) -> Step:
    """A step that runs on the lanes whose guard holds."""
    values = d.value(guard.register, TYPES["pred"])
    if guard.negated:
        inverted = np.empty_like(values)

        def negative(mask: Array | None) -> None:
            np.logical_not(values, inverted)
            step(inverted if mask is None else inverted & mask)

        return negative
    return lambda mask: step(values if mask is None else values & mask)
