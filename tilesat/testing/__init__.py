"""Regression tests for kernels: a pytest plugin (docs/testing.md).

    def test_gemm(tile):
        k = tile.compile("gemm.mlir", target="sm_90a")
        k.expect(cost__le=36_200, gap__le=0.01, registers__le=240, spills=0)
        k.ptx.expect("wgmma.mma_async", count=8)
        k.loop("wgmma").expect(instructions__le=60, serial_loads=0)
        k.chosen("%acc").expect(atom="wgmma.m64n128k16", stages__ge=4)
        k.runs(grid=(2, 2), args=[...])
        k.matches_golden("nv_tileas")

plugin      hooks of pytest and the fixture `tile`
tile        what the fixture is: compiles kernels, runs files that state their commands
kernel      a compiled kernel and its expectations; levels, sass, choices, golden, runs: their parts
conditions  NAME__le=..., and what a failure says
origin      where a kernel comes from, and the command that repeats it
record      runs over a folder of kernels, recorded and compared (`tilesat bench-record`, `bench-diff`)
"""
