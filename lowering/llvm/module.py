"""The text of a kernel as upstream MLIR reads it: a gpu.module of its arrays and an llvm.func in generic form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.core import PURE, Block, Op, Value
from ir.dialects import llvm, nvvm
from ir.dialects.gpu import GlobalArray
from ir.instruction import Instruction, register_bits
from ir.quoting import escape, symbol_text
from ir.text.level_attributes import level_attributes
from ir.types import SHARED_PTR, TENSOR_MAP
from lowering.llvm.accesses import access, is_plain
from lowering.llvm.assembly import Inline
from lowering.llvm.operations import same_in_llvm
from lowering.llvm.values import literal, llvm_type
from lowering.ptx.boundary import DIRECTIVES, Row, version
from lowering.ptx.printer import SHARED_ALIGNMENT
from lowering.symbols import symbol

TENSOR_MAP_PARAMETER = "{llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}"
# Not unroll.disable, of which the back end makes .pragma "nounroll" for ptxas.
AS_IT_IS = "loop_annotation = #llvm.loop_annotation<disableNonforced = true>"


def print_module(func: llvm.Func) -> str:
    """A kernel with granted registers as a module for `mlir-opt`, with its target."""
    major, minor = version(func)
    body = Body(func).text()
    externs = sorted(
        {op.extern for block in func.body.blocks for op in block.ops if isinstance(op, Instruction)} - {""}
    )
    declared = f" attributes {{llvm.module_asm = [{', '.join(map(escape, externs))}]}}" if externs else ""
    shared = [_shared()] if func.dynamic_smem else []
    chip = f'#nvvm.target<chip = "{func.target}", features = "+ptx{major}{minor}", O = 3>'
    return "\n".join(
        [
            "module attributes {gpu.container_module} {",
            f"gpu.module @kernels [{chip}]{declared} {{",
            *shared,
            *map(_global, func.arrays),
            body,
            "}",
            "}",
            "",
        ]
    )


def _shared() -> str:
    place = f"addr_space = 3 : i32, alignment = {SHARED_ALIGNMENT} : i64"
    return f"  llvm.mlir.global external @dynamic_smem() {{{place}}} : !llvm.array<0 x i8>"


def _global(array: GlobalArray) -> str:
    """An array with its initial bytes, in words; no constant, since a kernel may write it."""
    data = array.data + bytes(-len(array.data) % 4)
    words, place = len(data) // 4, f"addr_space = 1 : i32, alignment = {max(4, array.alignment)} : i64"
    value = f'dense<"0x{data.hex().upper()}"> : tensor<{words}xi32>'
    name = symbol_text(array.name)
    return f"  llvm.mlir.global internal {name}({value}) {{{place}}} : !llvm.array<{words} x i32>"


def _attribute(row: Row, func: llvm.Func) -> str:
    """The upstream form of a directive; empty if the kernel has none."""
    numbers = row.line(func).partition(" ")[2]
    listed = isinstance(func.attributes.get(row.attribute), tuple)
    value = f"array<i32: {numbers}>" if listed else f"{numbers} : i32"
    return f"{row.upstream.partition(' ')[0]} = {value}" if numbers else ""


class Body:
    """Writes one function; values get their names as they are written."""

    def __init__(self, func: llvm.Func):
        self.func = func
        self.inline = Inline(func)
        self.names: dict[Value, str] = {}
        self.order = {block: at for at, block in enumerate(func.body.blocks)}
        self.blocks = {block: f"^bb{at}" for block, at in self.order.items()}
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        """The llvm.func."""
        blocks = self.func.body.blocks
        for argument in (argument for block in blocks for argument in block.args):
            self.names[argument] = self.fresh()
        for block in blocks:
            if block is not blocks[0]:
                self.lines.append(f"  {self.blocks[block]}{self._arguments(block)}:")
            for op in block.ops:
                self.operation(op)
        parameters = ", ".join(map(self._parameter, blocks[0].args))
        head = (
            f"  llvm.func {symbol_text(symbol(self.func.sym_name))}({parameters}) attributes {{{self._attributes()}}}"
        )
        return "\n".join([f"{head} {{", *self.lines, "  }"])

    def _attributes(self) -> str:
        return ", ".join(["nvvm.kernel", *filter(None, (_attribute(row, self.func) for row in DIRECTIVES))])

    def _parameter(self, value: Value) -> str:
        attributes = f" {TENSOR_MAP_PARAMETER}" if value.type == TENSOR_MAP else ""
        return f"{self.names[value]}: {llvm_type(value.type)}{attributes}"

    def _arguments(self, block: Block) -> str:
        given = ", ".join(f"{self.names[value]}: {llvm_type(value.type)}" for value in block.args)
        return f"({given})" if given else ""

    # What is written

    def fresh(self) -> str:
        """A name that no value has."""
        self.count += 1
        return f"%{self.count - 1}"

    def line(self, name: str, operands: list[tuple[str, str]], to: str = "", attributes: str = "") -> str:
        """One operation in generic form, of (name, type) each; returns the name of its result, empty without `to`."""
        result = self.fresh() if to else ""
        given, types = ", ".join(each for each, _ in operands), ", ".join(kind for _, kind in operands)
        target_ = f"{result} = " if to else ""
        self.lines.append(f'    {target_}"{name}"({given}){attributes} : ({types}) -> {to or "()"}')
        return result

    def typed(self, value: Value) -> tuple[str, str]:
        """A value's name and its type in LLVM."""
        return self.names[value], llvm_type(value.type)

    def constant(self, number: int, kind: str) -> tuple[str, str]:
        """A whole number."""
        return self.line("llvm.mlir.constant", [], kind, f" <{{value = {number} : {kind}}}>"), kind

    # Operations

    def operation(self, op: Op) -> None:
        """In LLVM's form if equivalent, otherwise as inline PTX; dead operations are left out."""
        if op.effect is PURE and self.inline.needed.isdisjoint(op.results):
            return
        if isinstance(op, llvm.Br | llvm.CondBr):
            self._branch(op)
        elif isinstance(op, nvvm.Barrier0 | nvvm.NamedBarrier):
            self._barrier(op)
        elif isinstance(op, nvvm.Ld | nvvm.St) and is_plain(op):
            access(self, op)
        elif type(op) in FORMS:
            self.names[op.results[0]] = FORMS[type(op)](self, op)
        elif same_in_llvm(op):
            self._same(op)
        else:
            self._assembly(op)

    def _same(self, op: Op) -> None:
        to = llvm_type(op.results[0].type) if op.results else ""
        made = self.line(op.name, [self.typed(value) for value in op.operands], to, level_attributes(op))
        if op.results:
            self.names[op.results[0]] = made

    def _branch(self, op: llvm.Br | llvm.CondBr) -> None:
        """A back edge keeps LLVM from unrolling the loop: the schedule has already decided how much of it is in
        flight.
        """
        targets = ", ".join(self.blocks[block] for block in op.successors)
        properties: list[str] = []
        if any(self.order[block] <= self.order[op.parent] for block in op.successors if op.parent is not None):
            properties.append(AS_IT_IS)
        if isinstance(op, llvm.CondBr):
            properties.append(f"operandSegmentSizes = array<i32: 1, {len(op.true_args)}, {len(op.false_args)}>")
        shown = f" <{{{', '.join(properties)}}}>" if properties else ""
        self.line(op.name, [self.typed(value) for value in op.operands], "", f"[{targets}]{shown}")

    def _barrier(self, op: nvvm.Barrier0 | nvvm.NamedBarrier) -> None:
        """Upstream's own operation, which, unlike inline PTX, is `convergent`, so LLVM does not duplicate it into
        two branches.
        """
        numbers = (op.barrierId, op.numberOfThreads) if isinstance(op, nvvm.NamedBarrier) else ()
        given = [self.constant(number, "i32") for number in numbers]
        sizes = "1, 1, 0" if given else "0, 0, 0"
        self.line("nvvm.barrier", given, "", f" <{{operandSegmentSizes = array<i32: {sizes}>}}>")

    def _assembly(self, op: Op) -> None:
        """Results of several registers come as one struct."""
        made = self.inline.assembly(op)
        effects = ", has_side_effects" if made.effects else ""
        places = f", operand_attrs = [{', '.join(made.elements())}]" if any(made.places) else ""
        attributes = (
            f" <{{asm_string = {escape(made.text)}, constraints = {escape(made.constraints)}{effects}{places}}}>"
        )
        types = [llvm_type(value.type) for value in made.results]
        struct = f"!llvm.struct<({', '.join(types)})>"
        to = "" if not types else types[0] if len(types) == 1 else struct
        found = self.line("llvm.inline_asm", [self.typed(value) for value in made.operands], to, attributes)
        if len(types) == 1:
            self.names[made.results[0]] = found
            return
        for at, (value, kind) in enumerate(zip(made.results, types, strict=True)):
            position = f" <{{position = array<i64: {at}>}}>"
            self.names[value] = self.line("llvm.extractvalue", [(found, struct)], kind, position)


def _constant(body: Body, op: llvm.Constant) -> str:
    kind = op.results[0].type
    return body.line("llvm.mlir.constant", [], llvm_type(kind), f" <{{value = {literal(kind, op.value)}}}>")


def _address(body: Body, op: llvm.AddressOf) -> str:
    """Of an array; in shared memory as 32 bits."""
    kind = op.results[0].type
    symbol_ = f" <{{global_name = {symbol_text(op.global_name)}}}>"
    made = body.line("llvm.mlir.addressof", [], str(kind), symbol_)
    return body.line("llvm.ptrtoint", [(made, str(kind))], "i32") if kind == SHARED_PTR else made


def _element(body: Body, op: llvm.GetElementPtr) -> str:
    """Bytes are added to pointers, and in shared memory to integers."""
    if op.results[0].type == SHARED_PTR:
        return _shared_element(body, op)
    kind, at = str(op.results[0].type), body.typed(op.base)
    if op.index is not None:
        size = f"elem_type = !llvm.array<{op.element_bytes} x i8>, rawConstantIndices = array<i32: -2147483648>"
        at = body.line("llvm.getelementptr", [at, body.typed(op.index)], kind, f" <{{{size}}}>"), kind
    if op.offset:
        size = "elem_type = i8, rawConstantIndices = array<i32: -2147483648>"
        at = body.line("llvm.getelementptr", [at, body.constant(op.offset, "i64")], kind, f" <{{{size}}}>"), kind
    return at[0]


def _shared_element(body: Body, op: llvm.GetElementPtr) -> str:
    at = body.typed(op.base)
    if op.index is not None:
        index = body.typed(op.index)
        if index[1] != "i32":
            index = body.line("llvm.trunc", [index], "i32"), "i32"
        if op.element_bytes != 1:
            index = body.line("llvm.mul", [index, body.constant(op.element_bytes, "i32")], "i32"), "i32"
        at = body.line("llvm.add", [at, index], "i32"), "i32"
    if op.offset:
        at = body.line("llvm.add", [at, body.constant(op.offset, "i32")], "i32"), "i32"
    return at[0]


def _cast(body: Body, op: Op) -> str:
    """A cast between types that are one in LLVM is the value itself."""
    value, to = op.operands[0], llvm_type(op.results[0].type)
    name, kind = body.typed(value)
    if kind == to:
        return name
    if isinstance(op, llvm.Bitcast) or "!llvm.ptr" in kind + to:
        return body.line(op.name, [(name, kind)], to)
    wider = register_bits(op.results[0].type) > register_bits(value.type)
    return body.line("llvm.zext" if wider else "llvm.trunc", [(name, kind)], to)


FORMS: dict[type[Op], Callable[[Body, Any], str]] = {
    llvm.Constant: _constant,
    llvm.AddressOf: _address,
    llvm.GetElementPtr: _element,
    llvm.Bitcast: _cast,
    llvm.PtrToInt: _cast,
    llvm.IntToPtr: _cast,
}
"""Operations with a different form in LLVM; each function returns the name of the result."""
