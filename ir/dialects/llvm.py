"""llvm: the kernel of the nvvm level, above checks that read its operations (`llvm_operations`)."""

from __future__ import annotations

from ir.core import CONTROL, Attr, Op, RegionField, op
from ir.dialects.gpu import GlobalArray, verify_cluster, verify_parameters
from ir.dialects.llvm_operations import *  # noqa: F403
from ir.dialects.llvm_operations import Br, CondBr, Return
from ir.instruction import verify_floors
from ir.launch_records import ParameterRecord


@op("llvm.func")
class Func(Op):
    """A kernel as a control-flow graph; the first block's arguments are its parameters.

    `registers`: the number that a thread needs according to liveness, the mean over agents that move registers; 0 if
    not counted. The others as in gpu.func.
    """

    sym_name = Attr(str)
    target = Attr(str)
    block: Attr[tuple[int, ...]] = Attr(tuple)
    cluster: Attr[tuple[int, ...]] = Attr(tuple, (1, 1, 1))
    dynamic_smem = Attr(int, 0)
    maxnreg = Attr(int, 0)
    minctas = Attr(int, 0)
    consumers = Attr(int, 0)
    registers = Attr(int, 0)
    params: Attr[tuple[ParameterRecord, ...]] = Attr(tuple, ())
    arrays: Attr[tuple[GlobalArray, ...]] = Attr(tuple, ())
    body = RegionField()
    effect = CONTROL

    def verify(self) -> None:
        """Three block dimensions and a record of each parameter; blocks end in branches to blocks of the function."""
        self.expect(len(self.block) == 3, "block must have three dimensions, has {}", self.block)
        verify_cluster(self, self.cluster)
        blocks = self.body.blocks
        self.expect(bool(blocks), "needs a block")
        verify_parameters(self, self.params, [value.type for value in blocks[0].args])
        for block in blocks:
            ends = [isinstance(op, Br | CondBr | Return) for op in block.ops]
            self.expect(bool(ends) and ends[-1] and not any(ends[:-1]), "each block must end in its only branch")

    def verify_inside(self) -> None:
        """The target has all instructions; warpgroup products are in order."""
        from ir.dialects.wgmma_order import verify_wgmma  # loaded by what verifies only

        verify_floors(self, self.target)
        verify_wgmma(self)
