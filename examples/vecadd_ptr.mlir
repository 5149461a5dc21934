// Vector addition by pointers: c[i] = a[i] + b[i] for i < n.
//
// Each tile block adds 1024 elements. The mask keeps every access below n; masked-off loads give the padding, zero.
// Grid: (ceil(n / 1024), 1, 1). Only 16-byte alignment of the arrays is promised, nothing about n.
cuda_tile.module @vecadd_ptr {
  entry @vecadd_ptr(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
    %start = make_token : token
    %a_base = assume div_by<16>, %a : tile<ptr<f32>>
    %b_base = assume div_by<16>, %b : tile<ptr<f32>>
    %c_base = assume div_by<16>, %c : tile<ptr<f32>>
    %length = assume bounded<0, ?>, %n : tile<i32>

    // index = block * 1024 + [0, 1, ..., 1023]
    %block, %block_y, %block_z = get_tile_block_id : tile<i32>
    %width = constant <i32: 1024> : tile<i32>
    %first = muli %block, %width : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %first_all = broadcast %first_1 : tile<1xi32> -> tile<1024xi32>
    %lane = iota : tile<1024xi32>
    %index = addi %first_all, %lane : tile<1024xi32>

    %length_1 = reshape %length : tile<i32> -> tile<1xi32>
    %length_all = broadcast %length_1 : tile<1xi32> -> tile<1024xi32>
    %inside = cmpi less_than %index, %length_all, signed : tile<1024xi32> -> tile<1024xi1>
    %zero = constant <f32: 0.000000e+00> : tile<1024xf32>

    %a_1 = reshape %a_base : tile<ptr<f32>> -> tile<1xptr<f32>>
    %a_all = broadcast %a_1 : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %a_ptr = offset %a_all, %index : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %a_tile, %a_token = load_ptr_tko weak %a_ptr, %inside, %zero token=%start : tile<1024xptr<f32>>, tile<1024xi1>, tile<1024xf32> -> tile<1024xf32>, token

    %b_1 = reshape %b_base : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b_all = broadcast %b_1 : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %b_ptr = offset %b_all, %index : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %b_tile, %b_token = load_ptr_tko weak %b_ptr, %inside, %zero token=%start : tile<1024xptr<f32>>, tile<1024xi1>, tile<1024xf32> -> tile<1024xf32>, token

    %sum = addf %a_tile, %b_tile : tile<1024xf32>

    %c_1 = reshape %c_base : tile<ptr<f32>> -> tile<1xptr<f32>>
    %c_all = broadcast %c_1 : tile<1xptr<f32>> -> tile<1024xptr<f32>>
    %c_ptr = offset %c_all, %index : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
    %done = store_ptr_tko weak %c_ptr, %sum, %inside token=%start : tile<1024xptr<f32>>, tile<1024xf32>, tile<1024xi1> -> token
    return
  }
}
