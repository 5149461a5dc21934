"""nv_tileas between the CTAs of a cluster: values that each of them sends to the others through distributed shared
memory.

Part of the dialect of `nv_tileas`, which re-exports these names. Source of the idea: the seeds' DSMEM handshake (mapa,
a store, an arrival, a wait).
"""

from __future__ import annotations

from ir.core import WRITE, Attr, Op, Operand, OptionalOperand, Result, Variadic, VariadicResult, flag, op
from ir.descriptors import BARRIER_BYTES
from ir.dialects.nv_tileas_types import ExchangeType, is_exchange, is_held, is_i32
from ir.types import TOKEN, Constraint, TileType

WIDEST = 16  # maximum bytes of one access
IS_TOKEN = Constraint("a token", lambda t: t == TOKEN, (TOKEN,))
TOLD = Constraint("a tile or a scalar", lambda t: isinstance(t, TileType) or is_held(t))


@op("nv_tileas.cluster.create_exchange")
class CreateExchange(Op):
    """A receive buffer in shared memory, starting at byte `offset`, for the data that the `ctas` CTAs of an exchange
    send to this one: for each of its type's rounds an mbarrier, then `bytes` for each of `parts` CTAs. `warps` of each
    CTA arrive at a barrier. `meets`: all threads of the cluster meet behind it, the last one of a kernel whose agents
    do not part, which would. `data`: the alternative location of the bytes, over rings.
    """

    offset = Attr(int, 0, least=0)
    data = Attr(int, -1, least=-1)
    ctas = Attr(int, least=2)
    parts = Attr(int, least=1)
    bytes = Attr(int, least=1)
    warps = Attr(int, least=1)
    meets = flag()
    result = Result(is_exchange)

    effect = WRITE

    @property
    def first(self) -> int:
        """The offset of the first CTA's data of the first round, at a multiple of the widest access."""
        return self.barriers_end if self.data < 0 else self.data

    @property
    def barriers_end(self) -> int:
        """The first multiple of the widest access after the barriers."""
        return self.offset + -(-BARRIER_BYTES * self.rounds // WIDEST) * WIDEST

    @property
    def rounds(self) -> int:
        """Rounds that have a separate buffer."""
        kind = self.result.type
        return kind.rounds if isinstance(kind, ExchangeType) else 1

    @property
    def end(self) -> int:
        """The end offset."""
        return self.first + self.rounds * self.parts * self.bytes


@op("nv_tileas.cluster.exchange")
class Exchange(Op):
    """The values of all CTAs of the cluster whose ranks differ from this one's in the bits `among` only: for each value
    a result for each of these CTAs, in the order of these bits of their ranks, so that all of them get the same.

    All consumer threads run it, equally often in each of these CTAs, and their earlier writes are visible to all after
    it; without values it is only a barrier. `other`: for two CTAs, a result is the other one's value. In the source
    program it has tiles. `drained`: its buffer is over rings, which no CTA reads or fills after the previous barrier.
    Scheduling gives it a `place`, and the number of the `round`, which is how often this thread has run it before.
    """

    values = Variadic(TOLD)
    place = OptionalOperand(is_exchange)
    round = OptionalOperand(is_i32)
    among = Attr(int, least=1)
    other = flag()
    drained = flag()
    out = VariadicResult()

    effect = WRITE

    @property
    def parts(self) -> int:
        """CTAs whose values are results."""
        return 1 if self.other else self.ctas

    @property
    def ctas(self) -> int:
        """CTAs that take part."""
        return 1 << self.among.bit_count()

    def verify(self) -> None:
        """A result of each CTA."""
        wanted = [value.type for value in self.values for _ in range(self.parts)]
        self.expect(not self.other or self.ctas == 2, "a cluster of {} CTAs has no other CTA", self.ctas)
        self.expect(
            [result.type for result in self.results] == wanted, "must have {} results of each value", self.parts
        )
        self.expect((self.place is None) == (self.round is None), "must have a place and a round, or neither")


@op("nv_tileas.cluster.meet")
class Meet(Op):
    """In the source program: operations after `result` come after those before `token` in all CTAs of the cluster whose
    ranks differ from this one's only in the bits `among`. It becomes an exchange without values.
    """

    token = Operand(IS_TOKEN)
    among = Attr(int, least=1)
    result = Result(IS_TOKEN)

    effect = WRITE


@op("nv_tileas.cluster.partial_sum")
class PartialSum(Op):
    """In the source program: the sum of the tiles of the two CTAs whose ranks differ only in bit `place`. It becomes an
    exchange and an addition; if the result is cut in two, each of them adds one half.
    """

    value = Operand(TOLD)
    place = Attr(int, least=0)
    result = Result(like="value")

    effect = WRITE
