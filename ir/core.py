"""SSA operations, values, blocks and regions: the small core shared by all levels of the pipeline.

An operation class is declared once with `@op` and the field descriptors below; accessors, structural verification, the
generic text form and (for cuda_tile) the bytecode form derive from that declaration. Slots and flat operand lists keep
creation near 4 us, sixteen times cheaper than a general framework (measured, reference of the design, section 1).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, NoReturn, TypeVar, cast, overload

from ir.records import dataclass
from ir.upstream_form import UpstreamForm

T = TypeVar("T")
OpT = TypeVar("OpT", bound="Op")


@dataclass(frozen=True, slots=True)
class Location:
    """A location in a source file: 1-based line and column; 0 means unknown. `offset` is a byte offset in bytecode."""

    file: str = "<unknown>"
    line: int = 0
    column: int = 0
    offset: int = -1

    def __str__(self) -> str:
        if self.offset >= 0 and not self.line:
            return f"{self.file}:byte {self.offset}"
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


UNKNOWN = Location()


class TileError(Exception):
    """An error in the user's input: a message, its location, and what to do. Printed without a traceback."""

    def __init__(self, message: str, location: Location = UNKNOWN, hint: str = ""):
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.location}: error: {self.message}{hint}"


class ParseError(TileError):
    """Text that is not in the language; the location is that of the offending token."""


class VerifyError(TileError):
    """An operation that violates a rule of its dialect."""


class UnsupportedError(TileError):
    """A legal program that this version cannot read, interpret or compile."""


class Type:
    """A value's type; immutable, compared by content. str() is for people, `mlir` for files to be read again."""

    __slots__ = ()

    def mlir(self) -> str:
        """The type in MLIR's generic form: all its parameters, under the name of its dialect."""
        return str(self)


class Attribute:
    """A compile-time constant that needs more structure than int, bool, str, tuple or an enum; text as of a type."""

    __slots__ = ()

    def mlir(self) -> str:
        """The attribute in MLIR's generic form."""
        return str(self)


SpelledT = TypeVar("SpelledT", bound="type[Type] | type[Attribute]")
Spelling = Callable[[str, Callable[[str], "Type"], Callable[[str], "Attribute"]], "Type | Attribute"]
SPELLED: dict[str, Spelling] = {}
"""By name (`!dialect.name` of a type, `#dialect.name` of an attribute): the reader of the contents of its angle
brackets, given the readers of the types and the attributes in them.
"""


def spelled(name: str) -> Callable[[SpelledT], SpelledT]:
    """Declare that a class with a static method `read(body, type_of, attribute_of)` is written `name<body>`.

    `read` raises ValueError if the body cannot be read.
    """

    def declare(cls: SpelledT) -> SpelledT:
        SPELLED[name] = getattr(cls, "read")  # noqa: B009 (declared by each class)
        return cls

    return declare


class Value:
    """An SSA value: the result of an operation or the argument of a block."""

    __slots__ = ("index", "name", "owner", "type")

    def __init__(self, type: Type, owner: Op | Block, index: int, name: str = ""):
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name

    @property
    def op(self) -> Op | None:
        """The operation that defines this value, None for a block argument."""
        return self.owner if isinstance(self.owner, Op) else None

    def __repr__(self) -> str:
        return f"%{self.name or self.index} : {self.type}"


class Block:
    """An ordered list of operations with typed arguments; `parent` is the region that holds it."""

    __slots__ = ("args", "ops", "parent")

    def __init__(self, arg_types: Sequence[Type] = (), parent: Region | None = None):
        self.args: list[Value] = [Value(t, self, i) for i, t in enumerate(arg_types)]
        self.ops: list[Op] = []
        self.parent = parent

    def append(self, op: OpT) -> OpT:
        """Put `op` at the end of the block and own it."""
        op.parent = self
        self.ops.append(op)
        return op

    @property
    def terminator(self) -> Op:
        """The last operation."""
        return self.ops[-1]

    @property
    def parent_op(self) -> Op | None:
        """The operation whose region holds this block."""
        return self.parent.parent if self.parent else None


class Region:
    """A list of blocks owned by an operation; tile dialects use one block a region, nvvm a control-flow graph."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Iterable[Block] = (), parent: Op | None = None):
        self.blocks = list(blocks)
        self.parent = parent
        for block in self.blocks:
            block.parent = self

    @property
    def block(self) -> Block:
        """The only block of a structured region."""
        return self.blocks[0]


class Effect(enum.Enum):
    """An operation's effect on memory or control: PURE ones float in the e-graph, others stay in the skeleton."""

    PURE = "pure"
    READ = "read"  # ordered only by tokens: an e-node with a token operand
    WRITE = "write"
    CONTROL = "control"


PURE, READ, WRITE, CONTROL = Effect.PURE, Effect.READ, Effect.WRITE, Effect.CONTROL
Version = tuple[int, int]
INSIDE: Version = (1 << 31, 0)  # for an attribute that no bytecode has: set only by the compiler


class Field:
    """One declared part of an operation; `since` is the Tile IR version that introduced it."""

    name: str = ""

    def __init__(self, since: Version = (13, 1), doc: str = ""):
        self.since = since
        self.doc = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.rstrip("_")


TypeCheck = Callable[[Type], bool]


def meaning(check: TypeCheck) -> str:
    """The requirement of a type check in words, if it has an attribute `meaning`."""
    return getattr(check, "meaning", "of another type")


class OperandGroup(Field):
    """A run of operands; its index among the op's segments is fixed when the class is created."""

    slot: int = 0

    def __init__(self, check: TypeCheck | None = None, since: Version = (13, 1), doc: str = ""):
        super().__init__(since, doc)
        self.check = check

    def of(self, op: Op) -> list[Value]:
        """The operands of the group."""
        return op.operands[(start := self._start(op)) : start + op.segments[self.slot]]

    def _start(self, op: Op) -> int:
        return sum(op.segments[: self.slot]) if self.slot > 1 else op.segments[0] if self.slot else 0


class Operand(OperandGroup):
    """Exactly one operand."""

    @overload
    def __get__(self, op: None, owner: type) -> Operand: ...
    @overload
    def __get__(self, op: Op, owner: type) -> Value: ...
    def __get__(self, op: Op | None, owner: type) -> Operand | Value:
        if op is None:
            return self
        return op.operands[self._start(op) if op.info.flexible else self.slot]


class OptionalOperand(OperandGroup):
    """Zero or one operand."""

    @overload
    def __get__(self, op: None, owner: type) -> OptionalOperand: ...
    @overload
    def __get__(self, op: Op, owner: type) -> Value | None: ...
    def __get__(self, op: Op | None, owner: type) -> OptionalOperand | Value | None:
        if op is None:
            return self
        return op.operands[self._start(op)] if op.segments[self.slot] else None


class Variadic(OperandGroup):
    """Any number of operands."""

    @overload
    def __get__(self, op: None, owner: type) -> Variadic: ...
    @overload
    def __get__(self, op: Op, owner: type) -> list[Value]: ...
    def __get__(self, op: Op | None, owner: type) -> Variadic | list[Value]:
        return self if op is None else self.of(op)


class AttrField(Field):
    """A named compile-time constant, whatever its type: what an `Attr` declares."""

    kind: type[object]
    default: object
    form: UpstreamForm | None
    among: tuple[object, ...]
    least: int | None
    most: int | None

    def fault(self, value: Any) -> str:
        """Why a value of the right kind is illegal; empty if it is legal."""
        if self.among and value not in self.among:
            return f"must be one of {', '.join(map(repr, self.among))}, is {value!r}"
        if self.least is not None and value < self.least:
            return f"must be at least {self.least}, is {value}"
        if self.most is not None and value > self.most:
            return f"must be at most {self.most}, is {value}"
        return ""

    @property
    def bounded(self) -> bool:
        """Whether some values of the kind are illegal."""
        return bool(self.among) or self.least is not None or self.most is not None

    @property
    def required(self) -> bool:
        """Whether the attribute has no default."""
        return self.default is ...


class Attr(AttrField, Generic[T]):
    """A named compile-time constant of Python type `kind`; `default` makes it optional.

    `form`: how upstream MLIR spells it (`ir.upstream`), None if upstream lacks it. `among`: its legal values, if they
    are few; `least`, `most`: the least and the greatest legal number.
    """

    def __init__(
        self, kind: type[T], default: object = ..., since: Version = (13, 1), doc: str = "",
        form: UpstreamForm | None = None, among: Sequence[T] = (), least: int | None = None, most: int | None = None,
    ):  # fmt: skip
        super().__init__(since, doc)
        self.kind, self.default, self.form = kind, default, form
        self.among, self.least, self.most = tuple(among), least, most

    @overload
    def __get__(self, op: None, owner: type) -> Attr[T]: ...
    @overload
    def __get__(self, op: Op, owner: type) -> T: ...
    def __get__(self, op: Op | None, owner: type) -> Attr[T] | T:
        return self if op is None else op.attributes.get(self.name, self.default)


def flag(since: Version = (13, 1), form: UpstreamForm | None = None) -> Attr[bool]:
    """A Boolean attribute that is absent when false."""
    return Attr(bool, False, since, form=form)


def optional(kind: type[T], since: Version = (13, 1), doc: str = "") -> Attr[T | None]:
    """An attribute that may be absent; it then reads as None."""
    return cast("Attr[T | None]", Attr(kind, None, since, doc))


class Result(Field):
    """One result; `like` names the operand whose type it shares, otherwise the type is given at creation."""

    slot: int = 0

    def __init__(self, check: TypeCheck | None = None, like: str = "", since: Version = (13, 1), doc: str = ""):
        super().__init__(since, doc)
        self.check = check
        self.like = like

    @overload
    def __get__(self, op: None, owner: type) -> Result: ...
    @overload
    def __get__(self, op: Op, owner: type) -> Value: ...
    def __get__(self, op: Op | None, owner: type) -> Result | Value:
        return self if op is None else op.results[self.slot]


def same_type_as(operand: str) -> Result:
    """A result whose type is that of the named operand."""
    return Result(like=operand)


class VariadicResult(Field):
    """All results of the op."""

    @overload
    def __get__(self, op: None, owner: type) -> VariadicResult: ...
    @overload
    def __get__(self, op: Op, owner: type) -> list[Value]: ...
    def __get__(self, op: Op | None, owner: type) -> VariadicResult | list[Value]:
        return self if op is None else op.results


class RegionField(Field):
    """One region with a single block."""

    slot: int = 0

    @overload
    def __get__(self, op: None, owner: type) -> RegionField: ...
    @overload
    def __get__(self, op: Op, owner: type) -> Region: ...
    def __get__(self, op: Op | None, owner: type) -> RegionField | Region:
        return self if op is None else op.regions[self.slot]


class VariadicRegion(Field):
    """All regions of the op, each with a single block."""

    @overload
    def __get__(self, op: None, owner: type) -> VariadicRegion: ...
    @overload
    def __get__(self, op: Op, owner: type) -> list[Region]: ...
    def __get__(self, op: Op | None, owner: type) -> VariadicRegion | list[Region]:
        return self if op is None else op.regions


@dataclass(frozen=True)
class OpInfo:
    """The declaration `@op` extracts from a class: the one source for printers, readers, verifier, encoder, docs."""

    name: str
    since: Version
    opcode: int
    operands: tuple[OperandGroup, ...]
    attributes: tuple[AttrField, ...]
    results: tuple[Result, ...]
    variadic_results: bool
    regions: tuple[RegionField, ...]
    variadic_regions: bool = False
    upstream: bool = False

    @property
    def mnemonic(self) -> str:
        """The name without its dialect."""
        return self.name.partition(".")[2]

    @cached_property
    def fixed_segments(self) -> tuple[int, ...] | None:
        """Operand group sizes if every group has exactly one operand, otherwise None."""
        return None if self.flexible else (1,) * len(self.operands)

    @cached_property
    def flexible(self) -> tuple[int, ...]:
        """The groups whose number of operands may differ from one."""
        return tuple(i for i, g in enumerate(self.operands) if not isinstance(g, Operand))


class Op:
    """An operation; subclasses are declared with `@op` and never override __init__."""

    __slots__ = ("attributes", "location", "operands", "parent", "regions", "results", "segments")

    info: ClassVar[OpInfo]
    effect: ClassVar[Effect] = PURE

    def __init__(
        self,
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] | None = None,
        attributes: Mapping[str, object] | None = None,
        regions: Sequence[Region] = (),
        location: Location = UNKNOWN,
        segments: tuple[int, ...] | None = None,
    ):
        """Make an op; `segments` (operands per declared group) is needed only with optional or variadic groups.

        `result_types=None` infers them from `same_type_as` fields.
        """
        info = self.info
        self.operands = list(operands)
        self.attributes: dict[str, Any] = dict(attributes) if attributes else {}
        self.location = location
        self.parent: Block | None = None
        if segments is None:
            segments = info.fixed_segments
            if segments is None:
                segments = _guess_segments(info, len(self.operands))
        self.segments = segments
        if result_types is None:
            result_types = [getattr(self, r.like).type for r in info.results]
        if len(result_types) == 1:  # for most
            self.results = [Value(result_types[0], self, 0)]
        else:
            self.results = [Value(t, self, i) for i, t in enumerate(result_types)]
        self.regions = list(regions)
        for region in self.regions:
            region.parent = self

    @property
    def name(self) -> str:
        """The full name, dialect included."""
        return self.info.name

    @property
    def result0(self) -> Value:
        """The first result."""
        return self.results[0]

    def verify(self) -> None:
        """Check what the declared fields cannot express; raises VerifyError."""

    def verify_inside(self) -> None:
        """Check what requires the operations inside to be legal; for the root only. Raises VerifyError."""

    def is_upstream(self) -> bool:
        """For a class that upstream MLIR has: is this operation upstream's too, if that depends on its context?"""
        return True

    def expect(self, condition: bool, message: str, *values: object) -> None:
        """Raise a located VerifyError unless `condition`; `{}` in the message are filled with `values`."""
        if not condition:
            self.fail(message, *values)

    def fail(self, message: str, *values: object) -> NoReturn:
        """Raise a located VerifyError that names this op."""
        raise VerifyError(f"'{self.name}': " + message.format(*values), self.location)

    def walk(self) -> Iterator[Op]:
        """This op and every op below it, in program order."""
        yield self
        for region in self.regions:
            for block in region.blocks:
                for op in block.ops:
                    yield from op.walk() if op.regions else (op,)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _guess_segments(info: OpInfo, count: int) -> tuple[int, ...]:
    """Sizes when they are unambiguous: one flexible group takes what the fixed ones leave."""
    flexible = info.flexible
    sizes = [1] * len(info.operands)
    rest = count - (len(sizes) - len(flexible))
    for i in flexible:
        sizes[i] = 0
    if rest:
        if len(flexible) != 1:
            raise ValueError(f"{info.name}: operand segments must be given")
        sizes[flexible[0]] = rest
    return tuple(sizes)


OPS: dict[str, type[Op]] = {}
"""Every declared op class by its full name."""


def op(
    name: str, since: Version = (13, 1), opcode: int = -1, upstream: bool = False
) -> Callable[[type[OpT]], type[OpT]]:
    """Declare an operation class: reads its fields in order and registers it under `name`.

    `upstream`: upstream MLIR has it under this name, in this form (`ir.upstream`).
    """

    def declare(cls: type[OpT]) -> type[OpT]:
        fields = [f for base in reversed(cls.__mro__) for f in vars(base).values() if isinstance(f, Field)]
        groups = tuple(f for f in fields if isinstance(f, OperandGroup))
        results = tuple(f for f in fields if isinstance(f, Result))
        regions = tuple(f for f in fields if isinstance(f, RegionField))
        for kind in (groups, results, regions):
            for slot, field in enumerate(kind):
                field.slot = slot
        cls.info = OpInfo(
            name, since, opcode, groups, tuple(f for f in fields if isinstance(f, AttrField)), results,
            any(isinstance(f, VariadicResult) for f in fields), regions,
            any(isinstance(f, VariadicRegion) for f in fields), upstream,
        )  # fmt: skip
        if name in OPS:
            raise ValueError(f"op {name} is declared twice: {OPS[name].__module__} and {cls.__module__}")
        OPS[name] = cls
        return cls

    return declare


class Builder:
    """Appends operations to a block, giving each the current location."""

    __slots__ = ("block", "location")

    def __init__(self, block: Block, location: Location = UNKNOWN):
        self.block = block
        self.location = location

    def add(
        self,
        cls: type[OpT],
        *operands: Value,
        types: Sequence[Type] | None = None,
        regions: Sequence[Region] = (),
        segments: tuple[int, ...] | None = None,
        **attributes: object,
    ) -> OpT:
        """Create an op of class `cls` at the end of the block."""
        made = cls(operands, types, attributes, regions, self.location, segments)
        made.parent = self.block
        self.block.ops.append(made)
        return made

    def value(self, cls: type[Op], *operands: Value, types: Sequence[Type] | None = None, **attributes: Any) -> Value:
        """Create an op and return its first result."""
        return self.add(cls, *operands, types=types, **attributes).results[0]


def verify(root: Op) -> None:
    """Structural checks from the declarations, then each op's own `verify`, over `root` and all below it."""
    for each in root.walk():
        info = each.info
        each.expect(sum(each.segments) == len(each.operands), "operand segments do not add up")
        for group, size in zip(info.operands, each.segments, strict=True):
            each.expect(not isinstance(group, Operand) or size == 1, "operand '{}' is missing", group.name)
            each.expect(not isinstance(group, OptionalOperand) or size <= 1, "operand '{}' is given twice", group.name)
            if group.check is not None:
                for value in group.of(each):
                    if not group.check(value.type):
                        each.fail("operand '{}' must be {}, is {}", group.name, meaning(group.check), value.type)
        for attr in info.attributes:
            each.expect(not attr.required or attr.name in each.attributes, "attribute '{}' is missing", attr.name)
            if attr.bounded and attr.name in each.attributes:
                fault = attr.fault(each.attributes[attr.name])
                each.expect(not fault, "attribute '{}' {}", attr.name, fault)
        if not info.variadic_regions:
            each.expect(len(each.regions) == len(info.regions), "must have {} regions", len(info.regions))
        if not info.variadic_results:
            each.expect(len(each.results) == len(info.results), "must have {} results", len(info.results))
        for result in info.results:
            value = each.results[result.slot]
            if result.like:
                like = getattr(each, result.like).type
                each.expect(value.type == like, "result must have the type of '{}', {}", result.like, like)
            if result.check is not None and not result.check(value.type):
                each.fail("result '{}' must be {}, is {}", result.name, meaning(result.check), value.type)
        each.verify()
    root.verify_inside()
