"""Gathers, scatters, atomics, views, moved and packed tiles, control flow, printing."""

import cuda.tile as ct

N = 32


@ct.kernel
def gather_rows(x, rows, out):
    index = ct.load(rows, (0,), (8,))
    columns = ct.arange(16, dtype=ct.int32)
    ct.store(out, (0, 0), ct.gather(x, (ct.expand_dims(index, 1), ct.expand_dims(columns, 0)), padding_value=-1.0))


@ct.kernel
def scatter_masked(x, places, out):
    index = ct.load(places, (0,), (N,))
    values = ct.load(x, (0,), (N,))
    ct.scatter(out, index, values, mask=values > 0.0)


@ct.kernel
def histogram(x, counts):
    values = ct.load(x, (ct.bid(0),), (N,))
    ct.atomic_add(counts, values & 7, 1)


@ct.kernel
def atomic_updates(x, out, old):
    i = ct.arange(N, dtype=ct.int32)
    values = ct.load(x, (0,), (N,))
    before = ct.atomic_max(out, i, values)
    before = before + ct.atomic_min(out, i + N, values)
    before = before + ct.atomic_xor(out, i + 2 * N, values)
    before = before + ct.atomic_or(out, i + 3 * N, values)
    before = before + ct.atomic_and(out, i + 4 * N, values)
    ct.store(old, (0,), before + ct.atomic_xchg(out, i + 5 * N, values))


@ct.kernel
def locked_sum(lock, out, x):
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.store(out, (0,), ct.load(out, (0,), (N,)) + ct.load(x, (ct.bid(0),), (N,)))
    ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def overlapping(x, out):
    view = x.tiled_view((N,), traversal_steps=(8,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (ct.bid(0),), view.load((ct.bid(0),)))


@ct.kernel
def chosen_slices(x, rows, out):
    index = ct.load(rows, (0,), (8,))
    t = ct.load_advanced_indexing(x, (index, ct.Slice(3, 4)), padding_mode=ct.PaddingMode.ZERO)
    ct.store_advanced_indexing(out, (ct.Slice(1, 8), ct.arange(4, dtype=ct.int32) * 2), t)


@ct.kernel
def reduced_into_view(x, out):
    view = out.tiled_view((8, 8))
    view.atomic_store_add((0, 1), ct.load(x, (ct.bid(0), 0), (8, 8)))


@ct.kernel
def moved(x, out):
    t = ct.load(x, (0, 0), (8, 16))
    u = ct.cat((ct.transpose(t), ct.transpose(t)), 1)
    v = ct.extract(u, (1, 0), (8, 16))
    w = ct.reshape(ct.permute(ct.reshape(v, (2, 4, 16)), (2, 0, 1)), (16, 8))
    ct.store(out, (0, 0), w)


@ct.kernel
def inserted(x, y, out):
    t = ct.insert(ct.load(x, (0, 0), (8, 16)), (1, 3), ct.load(y, (0, 0), (4, 4)))
    ct.store(out, (0, 0), t)


@ct.kernel
def packed_fours(x, out):
    pairs = ct.unpack_from_bytes(ct.load(x, (0,), (N,)), ct.float4_e2m1fn)
    wide = ct.astype(pairs, ct.float32)
    ct.store(out, (0,), ct.pack_to_bytes(ct.astype(wide * 0.5, ct.float4_e2m1fn)))


@ct.kernel
def words_to_bytes(x, out):
    ct.store(out, (0,), ct.pack_to_bytes(ct.load(x, (0,), (8,))))


@ct.kernel
def collatz(x, steps):
    value = ct.gather(x, ct.bid(0))
    count = 0
    while True:
        if value == 1:
            break
        if value % 2 == 0:
            value = value // 2
            count = count + 1
            continue
        value = 3 * value + 1
        count = count + 1
    ct.scatter(steps, ct.bid(0), count)


@ct.kernel
def branches(x, out, mode):
    t = ct.load(x, (0,), (N,))
    if mode == 0:
        u = t + 1.0
    elif mode == 1:
        u = t * 2.0
    else:
        u = -t
    ct.store(out, (0,), u)


@ct.kernel
def early_exit(x, out, n):
    if ct.bid(0) >= n:
        return
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (N,)) * 3.0)


@ct.kernel
def told(x, out):
    t = ct.load(x, (0,), (4,))
    ct.assert_(t > 0, "positive")  # noqa: PT009
    ct.printf("%d tiles: %5.2f\n", ct.num_blocks(0), ct.astype(t, ct.float32))
    ct.store(out, (0,), t)


@ct.kernel
def dependent(x, out):
    ct.grid_dependency_control_wait()
    t = ct.load(x, (ct.bid(0),), (N,))
    ct.grid_dependency_control_launch_dependents()
    ct.store(out, (ct.bid(0),), t + 1.0)


@ct.kernel
def transposing_copy(x, out):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, (j, i), (8, 16), order="F", padding_mode=ct.PaddingMode.NAN)
    ct.store(out, (i, j), t)
