"""The passes from a scheduled kernel to PTX: nv_tileas, nvgpu, nvvm, machine instructions, text."""

from __future__ import annotations

from ir.core import Op, TileError
from ir.dialects import gpu, llvm, nv_tileas
from lowering.convert import nvgpu_to_nvvm, tileas_to_nvgpu
from lowering.convert.nvgpu_to_nvvm.as_read import carry_as_read
from lowering.convert.nvgpu_to_nvvm.branches import simplify_branches
from lowering.convert.nvgpu_to_nvvm.carried import merge_carried_values
from lowering.convert.nvgpu_to_nvvm.rematerialize import rematerialize
from lowering.convert.nvgpu_to_nvvm.stages import carry_addresses
from lowering.convert.nvgpu_to_nvvm.uses import simplify_by_uses
from lowering.modulo.straight import schedule
from lowering.passes.manager import Context
from lowering.ptx import printer
from lowering.ptx.boundary import refuse_boundary
from lowering.ptx.grant import grant
from lowering.ptx.program import MachineProgram
from lowering.schedule.units import GROUP
from lowering.selection import Selection


def size(kernel: Op) -> int:
    """Operations of a kernel."""
    return sum(1 for _ in kernel.walk())


def list_schedule(func: nv_tileas.Func, context: Context, forbid: tuple[str, ...]) -> nv_tileas.Func:
    """Schedule the code outside of innermost loops by the tables of the target: issue loads before barriers and waits
    that they need not come after, if that is predicted to be faster and registers hold what they load.
    """
    orders = schedule(func, context.target, forbid)
    found = context.levels.get("chosen")
    if isinstance(found, Selection):
        found.straight = tuple(each.time for each in orders)
    context.count(loads=sum(len(each.ahead) for each in orders if not each.why_not))
    return func


def to_nvgpu(func: nv_tileas.Func, context: Context, forbid: tuple[str, ...]) -> gpu.GpuFunc:
    """Turn tiles into the registers of one thread, views into addresses, and agents into branches on the thread
    number.
    """
    for op in func.body.block.ops:
        if isinstance(op, nv_tileas.AgentSwitch) and sum(op.agent_strides) % GROUP:
            message = f"the agents have {sum(op.agent_strides)} warps, not whole warpgroups of {GROUP}"
            raise TileError(message, op.location, "run optimize-execution-unit-mapping before convert-tileas-to-nvgpu")
    made = tileas_to_nvgpu.expand(func, context.target, frozenset(forbid))
    context.count(operations=lambda: size(made))
    return made


def to_nvvm(func: gpu.GpuFunc, context: Context, forbid: tuple[str, ...]) -> llvm.Func:
    """Convert each operation by its pattern and structured control to branches; value-number, fold and hoist."""
    made = nvgpu_to_nvvm.convert(func, frozenset(forbid))
    context.count(operations=lambda: size(made), blocks=len(made.body.blocks))
    return made


def simplify(func: llvm.Func, context: Context) -> llvm.Func:
    """Redirect edges past tests with known outcome; hoist common code of both sides above a branch."""
    context.count(changes=simplify_branches(func))
    return func


def merge_carried(func: llvm.Func, context: Context) -> llvm.Func:
    """Remove carried values that always equal another carried value."""
    context.count(values=merge_carried_values(func.body.blocks))
    return func


def carry_stages(func: llvm.Func, context: Context) -> llvm.Func:
    """Carry stages of rings as the addresses of their barriers."""
    context.count(values=carry_addresses(func.body.blocks))
    return func


def carry_read(func: llvm.Func, context: Context) -> llvm.Func:
    """Carry coordinates instead of counters, and awaited parities instead of their opposites; displace copy
    destinations before loops.
    """
    context.count(values=carry_as_read(func))
    return func


def recompute(func: llvm.Func, context: Context) -> llvm.Func:
    """Rematerialise addresses and predicates after loops with high register pressure."""
    context.count(values=rematerialize(func.body.blocks))
    return func


def simplify_uses(func: llvm.Func, context: Context) -> llvm.Func:
    """Remove operations on unread bits; choose scaling, shifts and comparisons by the uses of the result."""
    context.count(changes=simplify_by_uses(func))
    return func


def insert_ocg_knobs(func: llvm.Func, context: Context) -> llvm.Func:
    """Put pragmas for the scheduler of ptxas before fences and barriers, and one at the entry of kernels with products
    on sm_100 to sm_110; ptxas 13.5 supports none of them and warns about each. Enabled only by `--ocg-knobs`.
    """
    from lowering.ptx.knobs import insert_knobs  # on demand

    context.count(pragmas=insert_knobs(func))
    return func


def to_llvm(func: llvm.Func, context: Context) -> str:
    """Print a module of upstream MLIR: LLVM operations where equivalent, inline PTX for all others."""
    from lowering.llvm import print_module  # brings the printers of levels, on demand

    program = MachineProgram.select(func)
    grant(func, program.blocks, program.live)
    text = print_module(func)
    context.count(lines=lambda: text.count("\n"), inline=lambda: text.count('"llvm.inline_asm"'))
    return text


def select(func: llvm.Func, context: Context) -> MachineProgram:
    """Cover every needed value by one PTX instruction; immediates, displacements and dead code need no instruction."""
    refuse_boundary(func)
    made = MachineProgram.select(func)
    count = sum(len(block.code) for block in made.blocks)
    context.count(instructions=count, folded=lambda: max(0, size(func) - 1 - count))
    return made


def grant_registers(program: MachineProgram, context: Context) -> MachineProgram:
    """Count the registers that a thread needs; if agents reallocate them, set how many each gets."""
    grant(program.func, program.blocks, program.live)
    context.count(registers=program.func.registers, maxnreg=program.func.maxnreg)
    return program


def coalesce_registers(program: MachineProgram, context: Context) -> MachineProgram:
    """Put values connected by an edge or an instruction into one register if their live ranges do not overlap."""
    program.coalesce()
    context.count(values=lambda: len(program.groups))
    return program


def print_ptx(program: MachineProgram, context: Context, annotate: bool = False, lineinfo: bool = False) -> str:
    """Name the registers, order the moves on edges, write the module."""
    text = printer.Printer(program, annotate, lineinfo).text()
    context.count(lines=lambda: text.count("\n"))
    return text
