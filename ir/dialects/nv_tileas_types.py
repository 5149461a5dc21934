"""Types of nv_tileas: rings of buffers in shared memory, the barriers of a ring, places for scalars between agents."""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Attribute, Type, spelled
from ir.records import dataclass
from ir.types import (
    I1,
    I32,
    Constraint,
    FloatType,
    IntType,
    LLVMPointerType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorType,
    TensorViewType,
    dims_text,
    read_dims,
)


@spelled("!nv_tileas.smem")
@dataclass(frozen=True, slots=True)
class BufferType(Type):
    """A ring of `stages` shared-memory buffers, each holding a tile in a shared layout."""

    stages: int
    shape: tuple[int, ...]
    element: Type
    layout: Attribute

    def __str__(self) -> str:
        return f"!nv_tileas.smem<{dims_text((self.stages, *self.shape))}{self.element}, {self.layout}>"

    def mlir(self) -> str:
        """The layout as an attribute of its dialect."""
        dims = dims_text((self.stages, *self.shape))
        return f"!nv_tileas.smem<{dims}{self.element.mlir()}, {self.layout.mlir()}>"

    @staticmethod
    def read(body: str, type_of: Callable[[str], Type], attribute_of: Callable[[str], Attribute]) -> BufferType:
        """From `stages x dims x element, layout`."""
        tile, _, layout = body.partition(",")
        dims, element = read_dims(tile)
        if not dims:
            raise ValueError("the number of stages is missing")
        return BufferType(dims[0], dims[1:], type_of(element), attribute_of(layout.strip()))


@spelled("!nv_tileas.pipeline")
@dataclass(frozen=True, slots=True)
class PipelineType(Type):
    """Full and empty barriers of a ring of `stages`."""

    stages: int

    def __str__(self) -> str:
        return f"!nv_tileas.pipeline<{self.stages}>"

    @staticmethod
    def read(body: str, *_: object) -> PipelineType:
        """From the number of stages."""
        return PipelineType(int(body))


@spelled("!nv_tileas.pipeline_iter")
@dataclass(frozen=True, slots=True)
class IteratorType(Type):
    """A position in the rounds of a ring of `stages`, or of a channel, which has one: the stage and the round's
    parity.
    """

    stages: int

    def __str__(self) -> str:
        return f"!nv_tileas.pipeline_iter<{self.stages}>"

    @staticmethod
    def read(body: str, *_: object) -> IteratorType:
        """From the number of stages."""
        return IteratorType(int(body))


@spelled("!nv_tileas.producer_token")
@dataclass(frozen=True, slots=True)
class ProducerTokenType(Type):
    """The right to fill a stage, until it is committed."""

    def __str__(self) -> str:
        return "!nv_tileas.producer_token"

    @staticmethod
    def read(*_: object) -> ProducerTokenType:
        """Without a body."""
        return PRODUCER_TOKEN


@spelled("!nv_tileas.consumer_token")
@dataclass(frozen=True, slots=True)
class ConsumerTokenType(Type):
    """The right to read a stage, until it is released."""

    def __str__(self) -> str:
        return "!nv_tileas.consumer_token"

    @staticmethod
    def read(*_: object) -> ConsumerTokenType:
        """Without a body."""
        return CONSUMER_TOKEN


PRODUCER_TOKEN = ProducerTokenType()
CONSUMER_TOKEN = ConsumerTokenType()


@spelled("!nv_tileas.channel")
@dataclass(frozen=True, slots=True)
class ChannelType(Type):
    """A buffer for one scalar that one agent sends to another, with a full and an empty barrier."""

    element: Type

    def __str__(self) -> str:
        return f"!nv_tileas.channel<{self.element}>"

    @staticmethod
    def read(body: str, type_of: Callable[[str], Type], _: object) -> ChannelType:
        """From the type of the scalar."""
        return ChannelType(type_of(body))


@spelled("!nv_tileas.exchange")
@dataclass(frozen=True, slots=True)
class ExchangeType(Type):
    """A receive buffer for data from other CTAs of a cluster, in each of `rounds` successive rounds."""

    rounds: int

    def __str__(self) -> str:
        return f"!nv_tileas.exchange<{self.rounds}>"

    @staticmethod
    def read(body: str, *_: object) -> ExchangeType:
        """From the number of rounds."""
        return ExchangeType(int(body))


APART = ", apart"


@spelled("!nv_tileas.tmem")
@dataclass(frozen=True, slots=True)
class TensorMemoryType(Type):
    """A tile of a shape in tensor memory: an accumulator, or a left factor. `apart`: each element in a column of its
    own, though narrower, as products write sums of f16; otherwise as many in a column as fit.
    """

    shape: tuple[int, ...]
    element: Type
    apart: bool = False

    def __str__(self) -> str:
        return f"!nv_tileas.tmem<{dims_text(self.shape)}{self.element}{APART * self.apart}>"

    def mlir(self) -> str:
        """The element as upstream spells it."""
        return f"!nv_tileas.tmem<{dims_text(self.shape)}{self.element.mlir()}{APART * self.apart}>"

    @staticmethod
    def read(body: str, type_of: Callable[[str], Type], _: object) -> TensorMemoryType:
        """From `dims x element`, and `apart`."""
        dims, element = read_dims(body)
        return TensorMemoryType(dims, type_of(element.removesuffix(APART)), element.endswith(APART))


SCALAR = (IntType, FloatType, LLVMPointerType)
is_i1 = Constraint("an i1", lambda t: t == I1)
is_i32 = Constraint("an i32", lambda t: t == I32)
is_integer = Constraint("an integer", lambda t: isinstance(t, IntType))
is_pointer = Constraint("a pointer", lambda t: isinstance(t, LLVMPointerType))
is_tile = Constraint("a placed tile", lambda t: isinstance(t, TensorType) and t.layout is not None)
is_held = Constraint("a placed tile or a scalar", lambda t: isinstance(t, SCALAR) or is_tile(t))
is_pointers = Constraint("a pointer or a placed tile of them", lambda t: _element(t, (LLVMPointerType, PointerType)))
is_mask = Constraint(
    "an i1 or a placed tile of them", lambda t: t == I1 or (isinstance(t, TensorType) and t.element == I1)
)
is_array = Constraint("a tensor_view", lambda t: isinstance(t, TensorViewType))
is_view = Constraint("a view of tiles", lambda t: isinstance(t, PartitionViewType | StridedViewType))
is_buffer = Constraint("a ring of buffers", lambda t: isinstance(t, BufferType))
is_tensor_memory = Constraint("a tile in tensor memory", lambda t: isinstance(t, TensorMemoryType))
is_factor = Constraint("a placed tile or one in tensor memory", lambda t: is_tile(t) or is_tensor_memory(t))
is_pipeline = Constraint("a pipeline", lambda t: isinstance(t, PipelineType))
is_channel = Constraint("a channel", lambda t: isinstance(t, ChannelType))
is_exchange = Constraint("an exchange", lambda t: isinstance(t, ExchangeType))
is_ring = Constraint("a pipeline or a channel", lambda t: isinstance(t, PipelineType | ChannelType))
is_iterator = Constraint("an iterator of a pipeline", lambda t: isinstance(t, IteratorType))
is_stage = Constraint("an i32 or an iterator of a pipeline", lambda t: t == I32 or isinstance(t, IteratorType))
is_producer_token = Constraint("a producer's token", lambda t: t == PRODUCER_TOKEN)
is_consumer_token = Constraint("a consumer's token", lambda t: t == CONSUMER_TOKEN)


def _element(type: Type, kinds: tuple[type[Type], ...]) -> bool:
    return isinstance(type.element if isinstance(type, TensorType) else type, kinds)
