// RUN: tilesat opt %s --passes 'tileas-dynamic-persistent{schedule=static}' | filecheck %s
// RUN: tilesat opt %s --passes 'tileas-dynamic-persistent{schedule=dynamic}' | filecheck %s --check-prefix DRAWN

// The kernel stands in a loop over the tiles of the logical grid, whose extents are parameters behind its own; a return
// ends the tile. The dynamic schedule draws the next number before it begins with a tile.

// CHECK: entry @k(%{{.*}}: tile<ptr<i32>>, %{{.*}}: tile<i32>, %{{.*}}: tile<i32>, %{{.*}}: tile<i32>)
// CHECK: get_tile_block_id
// CHECK: get_num_tile_blocks
// CHECK: for %{{.*}} in (%{{.*}} to %{{.*}}, step %{{.*}})
// CHECK: remi
// CHECK-NOT: get_tile_block_id
// CHECK: if
// CHECK: continue
// CHECK: store_ptr_tko
// CHECK: return
// DRAWN: entry @k({{.*}}: tile<i32>, %{{.*}}: tile<i32>, %{{.*}}: tile<ptr<i32>>)
// DRAWN: loop iter_values
// DRAWN: atomic_rmw_tko relaxed device
// DRAWN: break
// DRAWN: store_ptr_tko

cuda_tile.module @m {
  entry @k(%x: tile<ptr<i32>>) {
    %start = make_token : token
    %i, %j, %l = get_tile_block_id : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %odd = cmpi equal %i, %two, signed : tile<i32> -> tile<i1>
    if %odd {
      return
    }
    %p = offset %x, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %p, %j token = %start : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
