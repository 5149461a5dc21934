// RUN: tilesat opt %s --passes drop-unit-batches | filecheck %s
// RUN: tilesat opt %s --passes drop-unit-batches --pass-statistics 2>&1 | filecheck %s --check-prefix COUNT

// A product with a batch of one has two dimensions, and so has the sum that the loop carries for it; a permuted factor
// stays one.

// CHECK: iter_values({{.*}}) -> (tile<64x32xf32>)
// CHECK: reshape {{.*}} -> tile<64x16xf16>
// CHECK: reshape {{.*}} -> tile<32x16xf16>
// CHECK: permute {{.*}} [1, 0] : tile<32x16xf16> -> tile<16x32xf16>
// CHECK: mmaf {{.*}} : tile<64x16xf16>, tile<16x32xf16>, tile<64x32xf32>
// CHECK-NEXT: continue
// CHECK: reshape {{.*}} -> tile<1x64x32xf32>
// COUNT: drop-unit-batches {{ *}}1 products that it made of two dimensions

cuda_tile.module @m {
  entry @product(%x: tile<ptr<f16>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
    %start = make_token : token
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<1x64x32xf32>
    %a = make_tensor_view %x, shape = [3, 64, %n], strides = [4096, 64, 1] : tile<i32> -> tensor_view<3x64x?xf16, strides=[4096,64,1]>
    %left = make_partition_view %a : partition_view<tile=(1x64x16), tensor_view<3x64x?xf16, strides=[4096,64,1]>>
    %right = make_partition_view %a : partition_view<tile=(1x32x16), tensor_view<3x64x?xf16, strides=[4096,64,1]>>
    %sum = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<1x64x32xf32>) {
      %l, %t = load_view_tko weak %left[%zero, %zero, %k] token = %start : partition_view<tile=(1x64x16), tensor_view<3x64x?xf16, strides=[4096,64,1]>>, tile<i32> -> tile<1x64x16xf16>, token
      %r, %u = load_view_tko weak %right[%zero, %one, %k] token = %start : partition_view<tile=(1x32x16), tensor_view<3x64x?xf16, strides=[4096,64,1]>>, tile<i32> -> tile<1x32x16xf16>, token
      %turned = permute %r [0, 2, 1] : tile<1x32x16xf16> -> tile<1x16x32xf16>
      %next = mmaf %l, %turned, %acc : tile<1x64x16xf16>, tile<1x16x32xf16>, tile<1x64x32xf32>
      continue %next : tile<1x64x32xf32>
    }
    %b = make_tensor_view %y, shape = [1, 64, 32], strides = [2048, 32, 1] : tensor_view<1x64x32xf32, strides=[2048,32,1]>
    %out = make_partition_view %b : partition_view<tile=(1x64x32), tensor_view<1x64x32xf32, strides=[2048,32,1]>>
    %done = store_view_tko weak %sum, %out[%zero, %zero, %zero] token = %start : tile<1x64x32xf32>, partition_view<tile=(1x64x32), tensor_view<1x64x32xf32, strides=[2048,32,1]>>, tile<i32> -> token
    return
  }
}
