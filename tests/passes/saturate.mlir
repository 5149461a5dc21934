// RUN: tilesat opt %s --passes encode,saturate | filecheck %s
// RUN: tilesat opt %s --passes encode,saturate{without=sink-negf},extract,decode | filecheck %s --check-prefix LEFT

// One class holds the negated tile in both forms; a product with one is its factor.

// CHECK: {{c[0-9]+}}: tile<16xf32> = %v, %same{{$}}
// CHECK: [[WIDE:c[0-9]+]]: tile<16x64xf32> = %wide{{$}}
// CHECK: [[BOTH:c[0-9]+]]: tile<16x64xf32> = %negated{{$}}
// CHECK-NEXT: negf([[WIDE]])
// CHECK-NEXT: broadcast([[SMALL:c[0-9]+]]; tile<16x64xf32>)
// CHECK: [[SMALL]]: tile<16x1xf32>
// CHECK-NEXT: negf(
// CHECK-NEXT: reshape(
// CHECK: p{{[0-9]+}}: [[BOTH]] in L
// LEFT: [[WIDE:%.*]] = "nv_tileas.broadcast"({{.*}} -> tensor<16x64xf32
// LEFT: "arith.negf"([[WIDE]])

cuda_tile.module @m {
  entry @rows(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %i = iota : tile<16xi32>
    %x1 = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
    %xs = broadcast %x1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
    %xp = offset %xs, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
    %v, %t = load_ptr_tko weak %xp : tile<16xptr<f32>> -> tile<16xf32>, token
    %one = constant <f32: 1.0> : tile<16xf32>
    %same = mulf %v, %one : tile<16xf32>
    %column = reshape %same : tile<16xf32> -> tile<16x1xf32>
    %wide = broadcast %column : tile<16x1xf32> -> tile<16x64xf32>
    %negated = negf %wide : tile<16x64xf32>
    %all = make_tensor_view %y, shape = [16, 64], strides = [64, 1] : tensor_view<16x64xf32, strides=[64,1]>
    %tiles = make_partition_view %all : partition_view<tile=(16x64), tensor_view<16x64xf32, strides=[64,1]>>
    %u = store_view_tko weak %negated, %tiles[%zero, %zero] : tile<16x64xf32>, partition_view<tile=(16x64), tensor_view<16x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}
