"""From a parsed entry to decoded code: opcode tables, guards, control flow."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ptxsim import control
from ptxsim.access import Site
from ptxsim.assigned import Use, doubtful
from ptxsim.control import GuardedMeeting, condition_of
from ptxsim.decode import Binding, Decode, Shareable, Step
from ptxsim.errors import TargetError, UnknownOpcodeError
from ptxsim.families import (
    arithmetic,
    async_copy,
    atomic,
    bits,
    bulk,
    bulk_clear,
    call,
    cluster,
    compare,
    convert,
    convert_narrow,
    fence,
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
    store_async,
    tcgen05,
    tensor_copy,
    tensormap,
    warp,
    wgmma,
    wmma,
)
from ptxsim.floors import Floor, cached_problem, describe
from ptxsim.hazards import Tracker
from ptxsim.members import watch_members
from ptxsim.pointwise import Guarded, Pointwise, Several
from ptxsim.program import Entry, Guard, Instruction, Operand, Register
from ptxsim.ptx_types import TYPES, Array
from ptxsim.schedule import Code

_FAMILIES = (
    arithmetic,
    async_copy,
    atomic,
    bits,
    bulk_clear,
    call,
    cluster,
    compare,
    control,
    convert,
    fence,
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
    store_async,
    tcgen05,
    tensormap,
    warp,
    wgmma,
    wmma,
)
_Decoder: TypeAlias = Callable[[Decode], Step | None]
# Rejected opcodes with a specific message.
_REFUSED = {
    "textures and surfaces are not modelled; read the data from global memory": (
        "tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep",
    ),
    "it is a video instruction; use the integer instructions": (
        "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset", "vadd2", "vsub2", "vavrg2",
        "vabsdiff2", "vmin2", "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
    ),
}  # fmt: skip


def _table() -> dict[str, _Decoder]:
    """Decoders by opcode, or by opcode and first modifiers if these have their own decoder."""
    table: dict[str, _Decoder] = {}
    for family in _FAMILIES:
        for opcode, decoder in family.OPCODES.items():
            if opcode in table:
                raise UnknownOpcodeError(f"two instruction families claim the opcode `{opcode}`")
            table[opcode] = decoder
    return table


def _floors() -> dict[str, tuple[Floor, ...]]:
    """Floors by the first part of the opcode."""
    floors: dict[str, tuple[Floor, ...]] = {}
    for family in (*_FAMILIES, bulk, convert_narrow, tensor_copy):
        for floor in getattr(family, "FLOORS", ()):
            base = floor.form.split()[0].split(".")[0]
            floors[base] = (*floors.get(base, ()), floor)
    return floors


TABLE = _table()
FLOORS = _floors()
_FRONTS = max(opcode.count(".") for opcode in TABLE)


def decoder_of(instruction: Instruction) -> _Decoder | None:
    """The row of an instruction: the longest prefix of its opcode that has one."""
    for count in range(min(_FRONTS, len(instruction.modifiers)), -1, -1):
        found = TABLE.get(".".join((instruction.base, *instruction.modifiers[:count])))
        if found is not None:
            return found
    return None


def link(entry: Entry, binding: Binding) -> tuple[Code, list[Site]]:
    """Decode an entry for a machine; also the memory sites, whose counts the report collects."""
    instructions = [*entry.instructions, Instruction("ret", "ret", (), [], None, entry.line, "ret;")]
    end = len(instructions)
    targets = {entry.first, *entry.labels.values(), *(one.first for one in entry.functions.values())}
    code = Code(instructions, [None] * end, [None] * end, {}, targets, entry.first)
    decoded: list[tuple[Decode, Step | None]] = []
    for pc, instruction in enumerate(instructions):
        d = Decode(binding, instruction, pc)
        decoded.append((d, _decode(d)))
        if d.control is not None:
            code.controls[pc] = d.control
    if binding.hazards is not None:
        binding.hazards.registers.follow(_doubtful(code, decoded, entry))
    for pc, (d, step) in enumerate(decoded):
        _place(code, pc, d, step)
    code.build_blocks()
    for block in code.blocks.values():
        _share([d for d, _ in decoded[block.first : block.last + 1]])
    return code, [d.site for d, _ in decoded if d.site is not None and d.control is None]


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
    """Append a decoded instruction to the code, guarded and, with hazards, watched."""
    instruction, tracker, guard = d.instruction, d.binding.hazards, d.instruction.guard
    if d.control is not None:
        if tracker is not None:
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
        code.steps[pc] = tracker.registers.watch(instruction, pc, step, {guard.register.index}, set())


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


def _decode(d: Decode) -> Step | None:
    """Decode an instruction that the simulator has, on a target and version that have it."""
    instruction, base = d.instruction, d.instruction.base
    decoder = decoder_of(instruction)
    if decoder is None:
        more = [words for words, opcodes in _REFUSED.items() if base in opcodes]
        raise d.error(UnknownOpcodeError, f"opcode `{base}` is not simulated" + "".join(f": {one}" for one in more))
    step = decoder(d)
    lacks = cached_problem(
        FLOORS.get(base, ()), instruction.opcode, describe(instruction), d.binding.target, d.binding.version
    )
    if lacks is not None:
        raise d.error(TargetError, f"`{instruction.opcode}`: {lacks}")
    return step


def _watched(tracker: Tracker, d: Decode, step: Step) -> Step:
    """A step that checks the registers it reads; selp reads only the selected operand."""
    instruction = d.instruction
    is_certain = (
        not d.reads & tracker.registers.followed and tracker.flights.guard(instruction, d.reads, d.writes) is None
    )
    if instruction.base != "selp" or is_certain:
        return tracker.registers.watch(instruction, d.pc, step, d.reads, d.writes) or step
    first, second, chosen = instruction.operands[1:4]
    predicate = d.value(chosen, TYPES["pred"])

    def of(operand: Operand) -> set[int]:
        return {operand.index} if isinstance(operand, Register) else set()

    check_first = tracker.registers.watch(instruction, d.pc, None, of(first), set()) or _nothing
    check_second = tracker.registers.watch(instruction, d.pc, None, of(second), set()) or _nothing
    whole = tracker.registers.watch(instruction, d.pc, step, of(chosen), d.writes) or step
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
    """A step that checks the registers that the end of a block reads."""
    guards = set[int]() if guard is None else {guard.register.index}
    if guard is None or (d.reads <= guards and not d.writes):
        return tracker.registers.watch(d.instruction, d.pc, None, d.reads | guards, d.writes)
    check = tracker.registers.watch(d.instruction, d.pc, None, d.reads - guards, d.writes)
    guarded = None if check is None else _guarded(d, check, guard)
    return tracker.registers.watch(d.instruction, d.pc, guarded, guards, set())


def _guarded(d: Decode, step: Step, guard: Guard) -> Step:
    """A step that runs on the lanes whose guard holds."""
    values = d.value(guard.register, TYPES["pred"])
    if isinstance(step, Pointwise | Several):
        return Guarded(step, values, guard.negated)
    if guard.negated:
        inverted = np.empty_like(values)

        def negative(mask: Array | None) -> None:
            np.logical_not(values, inverted)
            step(inverted if mask is None else inverted & mask)

        return negative
    return lambda mask: step(values if mask is None else values & mask)
