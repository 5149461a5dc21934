entry @ex(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i64>) {
  %cst_999999984306749440_f32 = constant <f32: 9.99999984E+17> : tile<f32>
  %cst_9300000300729368576_f32 = constant <f32: 9.300000e+18> : tile<f32>
  %cst_f32 = constant <f32: 1.900000e+19> : tile<f32>
  %cst_f32_0 = constant <f32: 1.000000e+30> : tile<f32>
  %cst_f32_1 = constant <f32: 3.000000e+38> : tile<f32>
  %cst_f32_2 = constant <f32: 2.500000e+00> : tile<f32>
  %cst_f32_3 = constant <f32: 1.23456779E-20> : tile<f32>
  %cst_f32_4 = constant <f32: 1.23456781E+20> : tile<f32>
  %cst_16777215_f32 = constant <f32: 0x4B7FFFFF> : tile<f32>
  %cst_33554432_f32 = constant <f32: 0x4C000000> : tile<f32>
  %cst_2147483648_f32 = constant <f32: 2.14748365E+9> : tile<f32>
  %cst_4294967296_f32 = constant <f32: 4.2949673E+9> : tile<f32>
  %cst_9007199254740992_f32 = constant <f32: 9.00719925E+15> : tile<f32>
  %cst_1000000000000000000_f64 = constant <f64: 1.000000e+18> : tile<f64>
  %cst_10000000000000000000_f64 = constant <f64: 1.000000e+19> : tile<f64>
  %cst_f64 = constant <f64: 2.000000e+19> : tile<f64>
  %cst_f64_5 = constant <f64: 1.000000e+300> : tile<f64>
  %cst_f64_6 = constant <f64: -1.000000e+300> : tile<f64>
  %cst_9007199254740992_f64 = constant <f64: 0x4340000000000000> : tile<f64>
  %cst_1_f8E8M0FNU = constant <f8E8M0FNU: 1.000000e+00> : tile<f8E8M0FNU>
  %cst_NaN_f8E8M0FNU = constant <f8E8M0FNU: 0xFF> : tile<f8E8M0FNU>
  %cst_f8E8M0FNU = constant <f8E8M0FNU: 4.701980e-38> : tile<f8E8M0FNU>
  %cst_NaN_f8E4M3FN = constant <f8E4M3FN: 0x7F> : tile<f8E4M3FN>
  %cst_f8E5M2 = constant <f8E5M2: 0x7C> : tile<f8E5M2>
  %cst_tf32 = constant <tf32: 5.000000e-01> : tile<tf32>
  %cst_tf32_7 = constant <tf32: 0x3FC00> : tile<tf32>
  %cst_tf32_8 = constant <tf32: 1.000260e+30> : tile<tf32>
  %cst_81920_tf32 = constant <tf32: 8.192000e+04> : tile<tf32>
  %cst_tf32_9 = constant <tf32: [1.500000e+00, 2.000000e+00]> : tile<2xtf32>
  %cst_f32_10 = constant <f32: [[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tile<2x2xf32>
  %cst_5_i32 = constant <i32: 5> : tile<1x1xi32>
  %cst_5_i32_11 = constant <i32: 5> : tile<2xi32>
  %cst_-9223372036854775808_i64 = constant <i64: -9223372036854775808> : tile<i64>
  %assume = assume bounded<-4, ?>, %arg1 : tile<i32>
  %assume_assume = assume bounded<-4, ?>, %assume : tile<i32>
  %assume_assume_assume = assume bounded<-4, ?>, %assume_assume : tile<i32>
  %0 = iota : tile<4xi32>
  %assume_12 = assume bounded<?, 3>, %0 : tile<4xi32>
  %blockId_x, %blockId_y, %blockId_z = get_tile_block_id : tile<i32>
  %assume_blockId_y = assume bounded<?, 3>, %blockId_y : tile<i32>
  %reshape = reshape %blockId_y : tile<i32> -> tile<1xi32>
  %assume_reshape = assume bounded<?, 3>, %reshape : tile<1xi32>
  %assume_assume_reshape = assume bounded<?, 3>, %assume_reshape : tile<1xi32>
  %cst_7_i32 = constant <i32: 7> : tile<i32>
  %for:2 = for %loopIdx in (%arg1 to %cst_7_i32, step %cst_7_i32) : tile<i32> iter_values(%iterArg0 = %cst_7_i32, %iterArg1 = %blockId_x) -> (tile<i32>, tile<i32>) {
    %assume_16 = assume bounded<?, 3>, %loopIdx : tile<i32>
    %assume_17 = assume bounded<?, 3>, %iterArg0 : tile<i32>
    continue %iterArg0, %iterArg1 : tile<i32>, tile<i32>
  }
  %assume_for = assume bounded<?, 3>, %for#0 : tile<i32>
  %assume_ = assume bounded<?, 3>, %for#1 : tile<i32>
  %assume_13 = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %assume_assume_14 = assume div_by<16>, %assume_13 : tile<ptr<f32>>
  %1 = int_to_ptr %arg2 : tile<i64> -> tile<ptr<f32>>
  %assume_15 = assume div_by<16>, %1 : tile<ptr<f32>>
  %bcast = broadcast %assume_reshape : tile<1xi32> -> tile<8xi32>
  %assume_bcast = assume bounded<?, 3>, %bcast : tile<8xi32>
  return
}
