// RUN: tilesat opt %s --passes \
// best-of-candidates(encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines) | filecheck %s
// RUN: tilesat opt %s --passes \
// best-of-candidates(encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines) --print-after extract 2>&1 \
// | filecheck %s --check-prefix TRIED

// Two sums of 128 x 256 take all registers of 8 warps. In slices of columns each loop has two of half the size; the rows
// of the second loop are copied once more, and that costs less than spilling.

// CHECK: "scf.for"
// CHECK-COUNT-2: "nv_tileas.dot"({{.*}} tensor<128x128xf32, {{.*}} -> tensor<128x128xf32
// CHECK: "scf.for"
// CHECK-COUNT-2: "nv_tileas.dot"({{.*}} tensor<128x128xf32, {{.*}} -> tensor<128x128xf32
// CHECK-NOT: "nv_tileas.dot"
// TRIED: // -----// after extract, chosen, sm_80, whole //----- //
// TRIED-NEXT: 8 warps on sm_80, cost 1{{[0-9][0-9][0-9][0-9][0-9]}},
// TRIED: // -----// after extract, chosen, sm_80, slices 1 //----- //
// TRIED-NEXT: 8 warps on sm_80, cost {{[0-9][0-9][0-9][0-9][0-9]\.}}

cuda_tile.module @m {
  entry @dual(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>) {
    %pa = assume div_by<16>, %a : tile<ptr<f16>>
    %pb = assume div_by<16>, %b : tile<ptr<f16>>
    %pc = assume div_by<16>, %c : tile<ptr<f32>>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %va = make_tensor_view %pa, shape = [1024, 512], strides = [512, 1] : tensor_view<1024x512xf16, strides=[512,1]>
    %vb = make_tensor_view %pb, shape = [512, 1024], strides = [1024, 1] : tensor_view<512x1024xf16, strides=[1024,1]>
    %vc = make_tensor_view %pc, shape = [1024, 512], strides = [512, 1] : tensor_view<1024x512xf32, strides=[512,1]>
    %ta = make_partition_view %va : partition_view<tile=(128x32), tensor_view<1024x512xf16, strides=[512,1]>>
    %tb = make_partition_view %vb : partition_view<tile=(32x256), tensor_view<512x1024xf16, strides=[1024,1]>>
    %tc = make_partition_view %vc : partition_view<tile=(128x256), tensor_view<1024x512xf32, strides=[512,1]>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %trips = constant <i32: 16> : tile<i32>
    %none = constant <f32: 0.0> : tile<128x256xf32>
    %gate = addi %y, %two : tile<i32>
    %sum, %product = for %k in (%zero to %trips, step %one) : tile<i32> iter_values(%acc = %none, %other = %none) -> (tile<128x256xf32>, tile<128x256xf32>) {
      %l, %s = load_view_tko weak %ta[%x, %k] : partition_view<tile=(128x32), tensor_view<1024x512xf16, strides=[512,1]>>, tile<i32> -> tile<128x32xf16>, token
      %r, %t = load_view_tko weak %tb[%k, %y] : partition_view<tile=(32x256), tensor_view<512x1024xf16, strides=[1024,1]>>, tile<i32> -> tile<32x256xf16>, token
      %g, %v = load_view_tko weak %tb[%k, %gate] : partition_view<tile=(32x256), tensor_view<512x1024xf16, strides=[1024,1]>>, tile<i32> -> tile<32x256xf16>, token
      %next = mmaf %l, %r, %acc : tile<128x32xf16>, tile<32x256xf16>, tile<128x256xf32>
      %after = mmaf %l, %g, %other : tile<128x32xf16>, tile<32x256xf16>, tile<128x256xf32>
      continue %next, %after : tile<128x256xf32>, tile<128x256xf32>
    }
    %both = mulf %sum, %product : tile<128x256xf32>
    %u = store_view_tko weak %both, %tc[%x, %y] : tile<128x256xf32>, partition_view<tile=(128x256), tensor_view<1024x512xf32, strides=[512,1]>>, tile<i32> -> token
    return
  }
}
