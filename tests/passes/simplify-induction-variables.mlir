// RUN: tilesat opt %s --passes simplify-induction-variables | filecheck %s
// RUN: tilesat opt %s --passes simplify-induction-variables --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// The number of the tile is computed from the counter; the sum, and the number that grows by what is loaded, are carried.

// CHECK: for [[I:%.*]] in ([[FIRST:%.*]] to {{.*}} -> (tile<f32>, tile<i32>)
// CHECK: [[PAST:%.*]] = subi [[I]], [[FIRST]] :
// CHECK: [[N:%.*]] = divi [[PAST]], {{.*}} unsigned
// CHECK: [[TWICE:%.*]] = muli [[N]],
// CHECK: [[AT:%.*]] = addi {{.*}}, [[TWICE]] :
// CHECK: offset {{.*}}, [[AT]] :
// COUNT: simplify-induction-variables {{ *}}1 carried values

cuda_tile.module @m {
  entry @sums(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %first: tile<i32>, %n: tile<i32>, %begin: tile<i32>) {
    %start = make_token : token
    %two = constant <i32: 2> : tile<i32>
    %many = constant <i32: 128> : tile<i32>
    %zero = constant <f32: 0.0> : tile<f32>
    %nothing = constant <i32: 0> : tile<i32>
    %s, %c, %u = for %i in (%first to %n, step %many) : tile<i32>
        iter_values(%sum = %zero, %at = %begin, %count = %nothing) -> (tile<f32>, tile<i32>, tile<i32>) {
      %p = offset %x, %at : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
      %v, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %next = addf %sum, %v : tile<f32>
      %further = addi %at, %two : tile<i32>
      %w = ftoi %v signed : tile<f32> -> tile<i32>
      %more = addi %count, %w : tile<i32>
      continue %next, %further, %more : tile<f32>, tile<i32>, tile<i32>
    }
    %f = itof %u signed : tile<i32> -> tile<f32>
    %all = addf %s, %f : tile<f32>
    %done = store_ptr_tko weak %y, %all : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
