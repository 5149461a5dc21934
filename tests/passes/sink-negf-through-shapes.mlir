// RUN: tilesat opt %s --passes encode,sink-negf-through-shapes,extract,decode | filecheck %s

// The negation of 1024 elements moves before broadcast and reshape, into the product, and changes the sign of its
// constant: 16 elements. Nothing else is rewritten: `saturate` would drop the product with one.

// CHECK: [[MINUS:%.*]] = "nv_tileas.constant"() <{value = dense<-1.000000e+00> : tensor<16xf32>}>
// CHECK-NEXT: [[NEGATED:%.*]] = "arith.mulf"({{%.*}}, [[MINUS]])
// CHECK-NEXT: "nv_tileas.reshape"([[NEGATED]])
// CHECK: "nv_tileas.broadcast"({{.*}} -> tensor<16x64xf32
// CHECK-NOT: "arith.negf"

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
