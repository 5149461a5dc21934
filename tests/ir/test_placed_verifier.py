"""The verifier of nv_tileas: what each operation asks of its operands and attributes, message by message."""

import re

import pytest

import tilesat
from tilesat import TileError

TILE = "tensor<64xf32, #nv_tileas.linear<reg = [32], lane = [1, 2, 4, 8, 16], warp = [], size = 64>>"
PAIR = "tensor<2x32xf32, #nv_tileas.linear<reg = [32], lane = [1, 2, 4, 8, 16], warp = [], size = 64>>"
HEAD = '"nv_tileas.func"() <{sym_name = "f", target = "sm_80", warps = 1'


def placed(*lines: str, head: str = "") -> str:
    """A placed kernel for sm_80 of one warp; %i and %x are an i32 and an f32, %t a tile of 64, %m one of 2 x 32."""
    made = [
        f'%t = "nv_tileas.broadcast"(%x) : (f32) -> {TILE}',
        f'%m = "nv_tileas.broadcast"(%x) : (f32) -> {PAIR}',
    ]
    body = "\n".join(["^bb0(%i: i32, %x: f32):", *made, *lines, '"nv_tileas.return"() : () -> ()'])
    return f"{HEAD}{head}}}> ({{\n{body}\n}}) : () -> ()\n"


SUM = '({{\n^bb0(%a: {0}, %b: {0}):\n"tilesat.scf.yield"(%a) : ({0}) -> ()\n}})'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%0 = "nv_tileas.get_program_id"() <{axis = 3 : i64}> : () -> i32',
         "attribute 'axis' must be one of 0, 1, 2, is 3"),
        ('%0 = "nv_tileas.get_program_id"() <{axis = 1 : i64}> : () -> i64', "result 'result' must be an i32, is i64"),
        ('%0 = "nv_tileas.iota"() : () -> i32', "result 'result' must be a placed tile, is i32"),
        (f'%0 = "nv_tileas.permute"(%m) <{{permutation = array<i64: 0, 0>}}> : ({PAIR}) -> {PAIR}',
         "permutation must name [0, 1] once"),
        (f'%0 = "nv_tileas.shared_load"(%x) <{{atom = "ldmatrix"}}> : (f32) -> {TILE}',
         "operand 'source' must be a placed tile, is f32"),
        (f'%0 = "nv_tileas.cat"(%t, %t) <{{dim = -1 : i64}}> : ({TILE}, {TILE}) -> {TILE}',
         "attribute 'dim' must be at least 0, is -1"),
        (f'%0 = "nv_tileas.tiled_load"(%t, %i) <{{bytes = 4 : i64}}> : ({TILE}, i32) -> {TILE}',
         "operand 'view' must be a view of tiles"),
        (f'%0 = "nv_tileas.shared_load"(%t) <{{atom = "ld.global"}}> : ({TILE}) -> {TILE}',
         "attribute 'atom' must be one of 'ldmatrix', 'ldmatrix.trans', 'ldmatrix.b8', 'ld.shared', is 'ld.global'"),
        (f'%0 = "nv_tileas.addptr"(%i, %i) <{{element_bytes = 4 : i64}}> : (i32, i32) -> {TILE}',
         "operand 'ptr' must be a pointer or a placed tile of them, is i32"),
        ('"nv_tileas.async.wait"() <{pending = -1 : i64}> : () -> ()', "attribute 'pending' must be at least 0, is -1"),
        (f'%0 = "nv_tileas.reduce"(%t) <{{dim = 1 : i64, identities = [0.0 : f64]}}> {SUM.format("f32")} : '
         f'({TILE}) -> f32', "dim must be below 1, is 1"),
        (f'%0 = "nv_tileas.reduce"(%t) <{{dim = 0 : i64, identities = []}}> {SUM.format("f32")} : ({TILE}) -> f32',
         "needs 1 identities, has 0"),
        (f'%0 = "nv_tileas.reduce"(%t) <{{dim = 0 : i64, identities = [0.0 : f64]}}> {SUM.format("i32")} : '
         f'({TILE}) -> f32', "the combiner must take ['f32', 'f32']"),
        (f'%0:2 = "nv_tileas.reduce"(%t, %m) <{{dim = 0 : i64, identities = [0.0 : f64, 0.0 : f64]}}> '
         f'{SUM.format("f32")} : ({TILE}, {PAIR}) -> (f32, f32)', "the tiles must have one shape"),
        (f'%0 = "nv_tileas.dot"(%m, %m, %m) <{{atom = "mma.sync.m1n1k1", grid = array<i64: 1, 1>}}> : '
         f'({PAIR}, {PAIR}, {PAIR}) -> {PAIR}', "there is no atom mma.sync.m1n1k1"),
    ],
)  # fmt: skip
def test_message(line: str, message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)) as error:
        tilesat.lower(placed(line))
    assert error.value.location.line == 5


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (", shared_bytes = -4 : i64", "attribute 'shared_bytes' must be at least 0, is -4"),
        (
            ", ranges = [array<i64: 7, 0, 1, 1>]",
            "ranges must be of parameter, least and greatest value, divisor, one is [7, 0, 1, 1]",
        ),
        (", ranges = [3]", "ranges must be of parameter, least and greatest value, divisor, one is []"),
        (", params = [{}]", "has 2 parameters, params 1 records"),
    ],
)
def test_message_of_the_kernel(head: str, message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)):
        tilesat.lower(placed(head=head))


def test_a_right_kernel_passes() -> None:
    assert ".visible .entry f(" in tilesat.lower(placed()).ptx
