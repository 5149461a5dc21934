// RUN: tilesat opt %s --target sm_90a --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,optimize-execution-unit-mapping,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,select-instructions,grant-registers,print-ptx | filecheck %s
// RUN: tilesat opt %s --target sm_90a --passes encode,saturate,extract,decode,tileas-materialize-schedule,tileas-lower-pipelines,optimize-execution-unit-mapping,\
// convert-tileas-to-nvgpu,convert-nvgpu-to-nvvm,select-instructions,print-ptx | filecheck %s --check-prefix ALL

// Sums of 64 x 64 take few registers: several CTAs per SM, each with its share. Without the pass it is the share of two.

// CHECK: .maxnreg {{(64|72|80|88|96|104|112|120|128)$}}
// CHECK: setmaxnreg.dec.sync.aligned.u32 {{[2-4][0-9];}}
// CHECK: setmaxnreg.inc
// ALL: .maxnreg 128
// ALL: setmaxnreg.dec.sync.aligned.u32 40;
// ALL: setmaxnreg.inc.sync.aligned.u32 216;

cuda_tile.module @m {
  entry @gemm(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f32>>) {
    %start = make_token : token
    %pa = assume div_by<16>, %a : tile<ptr<f16>>
    %pb = assume div_by<16>, %b : tile<ptr<f16>>
    %pc = assume div_by<16>, %c : tile<ptr<f32>>
    %x, %y, %z = get_tile_block_id : tile<i32>
    %va = make_tensor_view %pa, shape = [1024, 512], strides = [512, 1] : tensor_view<1024x512xf16, strides=[512,1]>
    %vb = make_tensor_view %pb, shape = [512, 768], strides = [768, 1] : tensor_view<512x768xf16, strides=[768,1]>
    %vc = make_tensor_view %pc, shape = [1024, 768], strides = [768, 1] : tensor_view<1024x768xf32, strides=[768,1]>
    %ta = make_partition_view %va : partition_view<tile=(64x64), tensor_view<1024x512xf16, strides=[512,1]>>
    %tb = make_partition_view %vb : partition_view<tile=(64x64), tensor_view<512x768xf16, strides=[768,1]>>
    %tc = make_partition_view %vc : partition_view<tile=(64x64), tensor_view<1024x768xf32, strides=[768,1]>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %trips = constant <i32: 8> : tile<i32>
    %none = constant <f32: 0.0> : tile<64x64xf32>
    %sum = for %k in (%zero to %trips, step %one) : tile<i32> iter_values(%acc = %none) -> (tile<64x64xf32>) {
      %l, %s = load_view_tko weak %ta[%x, %k] : partition_view<tile=(64x64), tensor_view<1024x512xf16, strides=[512,1]>>, tile<i32> -> tile<64x64xf16>, token
      %r, %t = load_view_tko weak %tb[%k, %y] : partition_view<tile=(64x64), tensor_view<512x768xf16, strides=[768,1]>>, tile<i32> -> tile<64x64xf16>, token
      %next = mmaf %l, %r, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %next : tile<64x64xf32>
    }
    %u = store_view_tko weak %sum, %tc[%x, %y] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<1024x768xf32, strides=[768,1]>>, tile<i32> -> token
    return
  }
}
