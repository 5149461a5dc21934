// RUN: tilesat opt %s --passes select-small-inserts | filecheck %s
// RUN: tilesat opt %s --passes select-small-inserts --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// A row is selected by the number of the row alone, one element by both; a part of 128 elements is inserted as before.

// CHECK: iota : tile<32xi32>
// CHECK: cmpi equal
// CHECK-NOT: iota
// CHECK: select {{.*}} : tile<32x64xi1>, tile<32x64xf32>
// CHECK: iota : tile<32xi32>
// CHECK: iota : tile<64xi32>
// CHECK: andi
// CHECK: select {{.*}} : tile<32x64xi1>, tile<32x64xf32>
// CHECK: insert
// COUNT: select-small-inserts {{ *}}2 inserts that it made selects by place

cuda_tile.module @m {
  entry @parts(%x: tile<ptr<f32>>, %i: tile<i64>, %j: tile<i64>) {
    %start = make_token : token
    %zero = constant <i32: 0> : tile<i32>
    %none = constant <i64: 0> : tile<i64>
    %v = make_tensor_view %x, shape = [32, 64], strides = [64, 1] : tensor_view<32x64xf32, strides=[64,1]>
    %all = make_partition_view %v : partition_view<tile=(32x64), tensor_view<32x64xf32, strides=[64,1]>>
    %row = constant <f32: 1.0> : tile<1x64xf32>
    %one = constant <f32: 2.0> : tile<1x1xf32>
    %two = constant <f32: 3.0> : tile<2x64xf32>
    %t, %u = load_view_tko weak %all[%zero, %zero] token = %start : partition_view<tile=(32x64), tensor_view<32x64xf32, strides=[64,1]>>, tile<i32> -> tile<32x64xf32>, token
    %a = insert %row, %t[%i, %none] : tile<1x64xf32>, tile<32x64xf32>
    %b = insert %one, %a[%i, %j] : tile<1x1xf32>, tile<32x64xf32>
    %c = insert %two, %b[%i, %none] : tile<2x64xf32>, tile<32x64xf32>
    %done = store_view_tko weak %c, %all[%zero, %zero] token = %u : tile<32x64xf32>, partition_view<tile=(32x64), tensor_view<32x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}
