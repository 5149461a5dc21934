// RUN: tilesat opt %s --passes unroll-loops | filecheck %s
// RUN: tilesat opt %s --passes unroll-loops --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// Three trips are written out, with the counter as a constant; a loop of unknown length stays.

// CHECK-NOT: for
// CHECK: constant <i32: 5>
// CHECK: load_ptr_tko
// CHECK: constant <i32: 7>
// CHECK: load_ptr_tko
// CHECK: constant <i32: 9>
// CHECK: load_ptr_tko
// CHECK: for %
// CHECK: load_ptr_tko
// CHECK-NOT: load_ptr_tko
// COUNT: unroll-loops {{ *}}1 loops unrolled

cuda_tile.module @m {
  entry @sums(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
    %start = make_token : token
    %first = constant <i32: 5> : tile<i32>
    %last = constant <i32: 10> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %zero = constant <f32: 0.0> : tile<f32>
    %few = for %i in (%first to %last, step %two) : tile<i32> iter_values(%sum = %zero) -> (tile<f32>) {
      %p = offset %x, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %next = addf %sum, %v : tile<f32>
      continue %next : tile<f32>
    }
    %all = for %i in (%first to %n, step %two) : tile<i32> iter_values(%sum = %few) -> (tile<f32>) {
      %p = offset %x, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %next = mulf %sum, %v : tile<f32>
      continue %next : tile<f32>
    }
    %u = store_ptr_tko weak %y, %all : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
