entry @ex(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i64>) optimization_hints=<default = {num_worker_warps_per_cta = 4}, sm_80 = {num_cta_in_cga = 1, occupancy = 2}> {
  %cst_i32 = constant <i32: [-2, -1, 0, 1]> : tile<4xi32>
  %cst_1024_i32 = constant <i32: 1024> : tile<4xi32>
  %cst_-5_i64 = constant <i64: -5> : tile<i64>
  %cst_123456789012_i64 = constant <i64: 123456789012> : tile<i64>
  %true = constant <i1: true> : tile<4xi1>
  %cst_i1 = constant <i1: [true, false, true, true]> : tile<4xi1>
  %cst_-3_i8 = constant <i8: -3> : tile<i8>
  %cst_7_i16 = constant <i16: 7> : tile<2x2xi16>
  %cst_f32 = constant <f32: [1.500000e+00, -2.000000e+00, 0x7FC00000, 0x7F800000]> : tile<4xf32>
  %cst_f32_0 = constant <f32: -1.000000e+00> : tile<f32>
  %cst_f32_1 = constant <f32: -0.000000e+00> : tile<f32>
  %cst_f32_2 = constant <f32: 1.000000e-01> : tile<f32>
  %cst_10000000000_f32 = constant <f32: 1.000000e+10> : tile<f32>
  %cst_123456_f32 = constant <f32: 1.234560e+05> : tile<f32>
  %cst_f32_3 = constant <f32: 1.000000e-30> : tile<f32>
  %cst_16777216_f32 = constant <f32: 0x4B800000> : tile<f32>
  %cst_f32_4 = constant <f32: 3.14159274> : tile<f32>
  %cst_NaN_f32 = constant <f32: 0x7FC00000> : tile<f32>
  %cst_f16 = constant <f16: 9.997550e-02> : tile<f16>
  %cst_65504_f16 = constant <f16: 6.550400e+04> : tile<f16>
  %cst_f16_5 = constant <f16: 0x7C00> : tile<f16>
  %cst_f16_6 = constant <f16: 5.960460e-08> : tile<f16>
  %cst_f64 = constant <f64: 1.000000e-01> : tile<f64>
  %cst_f64_7 = constant <f64: 0.33333333333333331> : tile<f64>
  %cst_100_f64 = constant <f64: 1.000000e+02> : tile<f64>
  %cst_bf16 = constant <bf16: 1.000980e-01> : tile<bf16>
  %cst_3_bf16 = constant <bf16: 3.000000e+00> : tile<bf16>
  %cst_tf32 = constant <tf32: 5.000000e-01> : tile<2xtf32>
  %cst_f8E4M3FN = constant <f8E4M3FN: 3.125000e-01> : tile<2xf8E4M3FN>
  %cst_3_f8E5M2 = constant <f8E5M2: 3.000000e+00> : tile<2xf8E5M2>
  %cst_f32_8 = constant <f32: "0x000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C4200004042000044420000484200004C4200005042000054420000584200005C4200006042000064420000684200006C4200007042000074420000784200007C42000080420000824200008442000086420000884200008A4200008C4200008E42000090420000924200009442000096420000984200009A4200009C4200009E420000A0420000A2420000A4420000A6420000A8420000AA420000AC420000AE420000B0420000B2420000B4420000B6420000B8420000BA420000BC420000BE420000C0420000C2420000C4420000C6420000C8420000CA420000CC420000CE420000D0420000D2420000D4420000D6420000D8420000DA420000DC420000DE420000E0420000E2420000E4420000E6420000E8420000EA420000EC420000EE420000F0420000F2420000F4420000F6420000F8420000FA420000FC420000FE420000004300000143000002430000034300000443000005430000064300000743000008430000094300000A4300000B4300000C4300000D4300000E4300000F430000104300001143000012430000134300001443000015430000164300001743000018430000194300001A4300001B4300001C4300001D4300001E4300001F430000204300002143000022430000234300002443000025430000264300002743000028430000294300002A4300002B4300002C4300002D4300002E4300002F430000304300003143000032430000334300003443000035430000364300003743000038430000394300003A4300003B4300003C4300003D4300003E4300003F430000404300004143000042430000434300004443000045430000464300004743000048430000494300004A4300004B4300004C4300004D4300004E4300004F430000504300005143000052430000534300005443000055430000564300005743000058430000594300005A4300005B4300005C4300005D4300005E4300005F430000604300006143000062430000634300006443000065430000664300006743000068430000694300006A4300006B4300006C4300006D4300006E4300006F430000704300007143000072430000734300007443000075430000764300007743000078430000794300007A4300007B4300007C4300007D4300007E4300007F43"> : tile<256xf32>
  %cst_i32_9 = constant <i32: "0x000000000100000002000000030000000400000005000000060000000700000008000000090000000A0000000B0000000C0000000D0000000E0000000F000000100000001100000012000000130000001400000015000000160000001700000018000000190000001A0000001B0000001C0000001D0000001E0000001F000000200000002100000022000000230000002400000025000000260000002700000028000000290000002A0000002B0000002C0000002D0000002E0000002F000000300000003100000032000000330000003400000035000000360000003700000038000000390000003A0000003B0000003C0000003D0000003E0000003F000000400000004100000042000000430000004400000045000000460000004700000048000000490000004A0000004B0000004C0000004D0000004E0000004F000000500000005100000052000000530000005400000055000000560000005700000058000000590000005A0000005B0000005C0000005D0000005E0000005F000000600000006100000062000000630000006400000065000000660000006700000068000000690000006A0000006B0000006C0000006D0000006E0000006F000000700000007100000072000000730000007400000075000000760000007700000078000000790000007A0000007B0000007C0000007D0000007E0000007F000000"> : tile<2x64xi32>
  %cst_i32_10 = constant <i32: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]> : tile<64xi32>
  %cst_i1_11 = constant <i1: "0x0100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100"> : tile<128xi1>
  %0 = addi %cst_i32, %cst_1024_i32 : tile<4xi32>
  %1 = addi %cst_i32, %cst_1024_i32 overflow<no_signed_wrap> : tile<4xi32>
  %2 = addi %cst_i32, %cst_1024_i32 overflow<no_unsigned_wrap> : tile<4xi32>
  %3 = addi %cst_i32, %cst_1024_i32 overflow<no_wrap> : tile<4xi32>
  %4 = shli %cst_i32, %cst_1024_i32 overflow<no_signed_wrap> : tile<4xi32>
  %5 = negi %cst_i32 overflow<no_signed_wrap> : tile<4xi32>
  %6 = negi %cst_i32 : tile<4xi32>
  %7 = absi %cst_i32 : tile<4xi32>
  %8 = mulhii %cst_i32, %cst_i32 : tile<4xi32>
  %9 = divi %cst_i32, %cst_1024_i32 signed : tile<4xi32>
  %10 = divi %cst_i32, %cst_1024_i32 signed rounding<negative_inf> : tile<4xi32>
  %11 = divi %cst_i32, %cst_1024_i32 signed rounding<positive_inf> : tile<4xi32>
  %12 = divi %cst_i32, %cst_1024_i32 unsigned : tile<4xi32>
  %13 = trunci %cst_i32 overflow<no_signed_wrap> : tile<4xi32> -> tile<4xi8>
  %14 = maxi %cst_i32, %cst_1024_i32 unsigned : tile<4xi32>
  %15 = remi %cst_i32, %cst_1024_i32 unsigned : tile<4xi32>
  %16 = fma %cst_f32, %cst_f32, %cst_f32  : tile<4xf32>
  %17 = mulf %cst_f32, %cst_f32  : tile<4xf32>
  %18 = fma %cst_f32, %cst_f32, %cst_f32  flush_to_zero : tile<4xf32>
  %19 = mulf %cst_f32, %cst_f32  flush_to_zero : tile<4xf32>
  %20 = fma %cst_f32, %cst_f32, %cst_f32 rounding<zero> : tile<4xf32>
  %21 = mulf %cst_f32, %cst_f32 rounding<zero> : tile<4xf32>
  %22 = fma %cst_f32, %cst_f32, %cst_f32 rounding<zero> flush_to_zero : tile<4xf32>
  %23 = mulf %cst_f32, %cst_f32 rounding<zero> flush_to_zero : tile<4xf32>
  %24 = maxf %cst_f32, %cst_f32 : tile<4xf32>
  %25 = maxf %cst_f32, %cst_f32 flush_to_zero : tile<4xf32>
  %26 = maxf %cst_f32, %cst_f32 propagate_nan : tile<4xf32>
  %27 = maxf %cst_f32, %cst_f32 flush_to_zero propagate_nan : tile<4xf32>
  %28 = sqrt %cst_f32 rounding<approx> flush_to_zero : tile<4xf32>
  %29 = sqrt %cst_f32  flush_to_zero : tile<4xf32>
  %30 = tanh %cst_f32 rounding<approx> : tile<4xf32>
  %31 = tanh %cst_f32  : tile<4xf32>
  %32 = exp %cst_f32  : tile<4xf32>
  %33 = exp2 %cst_f32 : tile<4xf32>
  %34 = rsqrt %cst_f32 flush_to_zero : tile<4xf32>
  %35 = remf %cst_f32, %cst_f32 : tile<4xf32>
  %36 = atan2 %cst_f32, %cst_f32 : tile<4xf32>
  %37 = fpowi %cst_f32, %cst_i32 : tile<4xf32>, tile<4xi32>
  %38 = ftoi %cst_f32 signed  saturating : tile<4xf32> -> tile<4xi32>
  %39 = ftoi %cst_f32 unsigned  : tile<4xf32> -> tile<4xi32>
  %40 = itof %cst_i32 unsigned  : tile<4xi32> -> tile<4xf32>
  %41 = ftof %cst_f32  : tile<4xf32> -> tile<4xf16>
  %42 = bitcast %cst_i32 : tile<4xi32> -> tile<4xf32>
  %43 = cmpf equal unordered %cst_f32, %cst_f32 : tile<4xf32> -> tile<4xi1>
  %44 = cmpf not_equal unordered %cst_f32, %cst_f32 : tile<4xf32> -> tile<4xi1>
  %45 = cmpf less_than unordered %cst_f32, %cst_f32 : tile<4xf32> -> tile<4xi1>
  %46 = cmpf less_than_or_equal unordered %cst_f32, %cst_f32 : tile<4xf32> -> tile<4xi1>
  %47 = cmpf greater_than unordered %cst_f32, %cst_f32 : tile<4xf32> -> tile<4xi1>
  %48 = cmpf greater_than_or_equal unordered %cst_f32, %cst_f32 : tile<4xf32> -> tile<4xi1>
  %assume_cst_i32 = assume div_by<8, every 4 along 0>, %cst_i32 : tile<4xi32>
  %assume_cst_i32_12 = assume bounded<-4, ?>, %cst_i32 : tile<4xi32>
  %assume_cst_i32_13 = assume bounded<-4, 99>, %cst_i32 : tile<4xi32>
  assert %cst_i1, "bad \22x\22\0A" : tile<4xi1>
  %gridSize_x, %gridSize_y, %gridSize_z = get_num_tile_blocks : tile<i32>
  %49 = int_to_ptr %arg2 : tile<i64> -> tile<ptr<f32>>
  %50 = ptr_to_int %arg0 : tile<ptr<f32>> -> tile<i64>
  %51 = ptr_to_ptr %arg0 : tile<ptr<f32>> -> tile<ptr<i32>>
  %reshape = reshape %arg0 : tile<ptr<f32>> -> tile<1xptr<f32>>
  %bcast = broadcast %reshape : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %52 = make_token : token
  %result, %result_token = load_ptr_tko weak %bcast : tile<4xptr<f32>> -> tile<4xf32>, token
  %result_14, %result_token_15 = load_ptr_tko relaxed device %bcast, %cst_i1 : tile<4xptr<f32>>, tile<4xi1> -> tile<4xf32>, token
  %result_16, %result_token_17 = load_ptr_tko acquire sys %bcast, %cst_i1, %cst_f32 token=%52 optimization_hints = <default = {latency = 5}, sm_80 = {latency = 3}> : tile<4xptr<f32>>, tile<4xi1>, tile<4xf32> -> tile<4xf32>, token
  %result_18, %result_token_19 = load_ptr_tko weak %bcast token=%52 optimization_hints = <default = {latency = 5}, sm_80 = {latency = 3}> : tile<4xptr<f32>> -> tile<4xf32>, token
  %53 = store_ptr_tko weak %bcast, %cst_f32 optimization_hints = <default = {latency = 5}, sm_80 = {latency = 3}> : tile<4xptr<f32>>, tile<4xf32> -> token
  %54 = store_ptr_tko release tl_blk %bcast, %cst_f32, %cst_i1 token=%52 : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token
  %result_20, %result_token_21 = atomic_rmw_tko relaxed device %bcast, addf, %cst_f32 : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token
  %tview = make_tensor_view %arg0, shape = [%arg1, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %tview_22 = make_tensor_view %arg0, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %pview = make_partition_view %tview : partition_view<tile=(16x8), padding_value = neg_inf, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>
  %55:2 = get_index_space_shape %pview : partition_view<tile=(16x8), padding_value = neg_inf, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]> -> tile<i32>
  %56:2 = get_tensor_shape %tview : tensor_view<?x64xf32, strides=[64,1]> -> tile<i64>
  %tile, %result_token_23 = load_view_tko weak %pview[%arg1, %arg1] : partition_view<tile=(16x8), padding_value = neg_inf, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>, tile<i32> -> tile<16x8xf32>, token
  %tile_24, %result_token_25 = load_view_tko relaxed device %pview[%arg1, %arg1] token = %52 optimization_hints = <sm_80 = {allow_tma = false, latency = 3}> inbounds = [true, false] : partition_view<tile=(16x8), padding_value = neg_inf, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>, tile<i32> -> tile<16x8xf32>, token
  %57 = store_view_tko weak %tile, %pview[%arg1, %arg1] token = %52 optimization_hints = <sm_80 = {allow_tma = false, latency = 3}> inbounds = [true, true] : tile<16x8xf32>, partition_view<tile=(16x8), padding_value = neg_inf, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>, tile<i32> -> token
  %58 = store_view_tko release sys %tile, %pview[%arg1, %arg1] : tile<16x8xf32>, partition_view<tile=(16x8), padding_value = neg_inf, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>, tile<i32> -> token
  %59 = permute %tile [1, 0] : tile<16x8xf32> -> tile<8x16xf32>
  %cst_0_f32 = constant <f32: 0.000000e+00> : tile<16x16xf32>
  %60 = mmaf %tile, %59, %cst_0_f32 : tile<16x8xf32>, tile<8x16xf32>, tile<16x16xf32>
  %cst_f8E4M3FN_26 = constant <f8E4M3FN: 3.125000e-01> : tile<16x16xf8E4M3FN>
  %61 = mmaf %cst_f8E4M3FN_26, %cst_f8E4M3FN_26, %cst_0_f32 fast_acc : tile<16x16xf8E4M3FN>, tile<16x16xf8E4M3FN>, tile<16x16xf32>
  %cst_3_i8 = constant <i8: 3> : tile<16x16xi8>
  %cst_0_i32 = constant <i32: 0> : tile<16x16xi32>
  %62 = mmai %cst_3_i8, %cst_3_i8, %cst_0_i32 signed unsigned : tile<16x16xi8>, tile<16x16xi8>, tile<16x16xi32>
  %cst_0_i32_27 = constant <i32: 0> : tile<i32>
  %true_28 = constant <i1: true> : tile<i1>
  for unsigned %loopIdx in (%arg1 to %cst_0_i32_27, step %cst_0_i32_27) : tile<i32> {
  }
  %63 = if %true_28 -> (tile<i32>) {
    yield %cst_0_i32_27 : tile<i32>
  } else {
    yield %arg1 : tile<i32>
  }
  %64:2 = if %true_28 -> (tile<i32>, tile<i32>) {
    yield %cst_0_i32_27, %cst_0_i32_27 : tile<i32>, tile<i32>
  } else {
    yield %arg1, %cst_0_i32_27 : tile<i32>, tile<i32>
  }
  if %true_28 {
  } else {
    return
  }
  loop iter_values(%arg3 = %cst_0_i32_27) : tile<i32> {
    if %true_28 {
      break
    } else {
    }
    continue %arg3 : tile<i32>
  }
  loop {
    break
  }
  return
}
