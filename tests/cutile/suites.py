"""Operators of tilegym.suites and tilegym.transformers."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from tests.cutile import references as ref
from tests.cutile.calls import NO_F8, below, bf16, call, empty, f8, f16, f32, fixed, halves, logs, shares, uniform

LIGER, UNSLOTH, FLASHINFER, MODELS = (
    "suites.liger.cutile.",
    "suites.unsloth.cutile.",
    "suites.flashinfer.cutile.gemm.",
    "transformers.",
)
KERNELS = ".kernels."


def _llama4(q, k, freqs_cis):
    turns = torch.view_as_complex(freqs_cis)[None, :, None]

    def turned(x):
        return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turns).flatten(-2)

    return turned(q), turned(k)


def _unsloth_glu(DW, e, g):
    f = F.silu(e)
    s = torch.sigmoid(e)
    return f * g, DW * f, DW * g * (s + f * (1 - s))


def _unsloth_geglu(approximate):
    def backward(DW, e, g):
        e = e.detach().requires_grad_()
        f = F.gelu(e, approximate=approximate)
        (slope,) = torch.autograd.grad(f.sum(), e)
        return (f * g).detach(), DW * f.detach(), DW * g * slope

    return backward


def _quantized(x, size, least=0.0):
    groups = x.reshape(*x.shape[:-1], -1, size)
    scale = groups.abs().amax(-1).clamp(min=least) / 448
    return (groups / scale[..., None]).to(torch.float8_e4m3fn).float().reshape(x.shape), scale


def _roped_in_eight_bits(q_rope, k_rope, q_nope, k_nope, cos, sin):
    turned = ref.pairs_turned(q_rope, cos[:, None], sin[:, None]) * 0.5, ref.pairs_turned(k_rope, cos, sin) * 2.0
    return *turned, q_nope * 0.5, k_nope * 2.0


def _roped(Q, cos, sin):
    return ref.rotate(Q, cos.repeat(1, 2)[:, None], sin.repeat(1, 2)[:, None])


def _updated(x, conv_state, weight):
    window = torch.cat([conv_state[..., 1:], x], -1)
    return (window * weight).sum(-1, keepdim=True)


SUITES = [
    call(
        LIGER + "cross_entropy.cross_entropy",
        lambda input, target: F.cross_entropy(input, target),
        input=f16(8, 200),
        target=below(200, 8),
    ),
    call(
        LIGER + "cross_entropy.cross_entropy",
        lambda input, target: F.cross_entropy(input, target),
        input=f32(8, 300),
        target=below(300, 8),
        gradients="input",
    ),
    call(
        LIGER + "dyt.dyt",
        lambda x, alpha, gamma, beta: gamma * torch.tanh(alpha * x) + beta,
        x=f32(16, 256),
        alpha=f32(1),
        gamma=f32(256),
        beta=f32(256),
        gradients="x alpha gamma beta",
        tolerance=2e-3,
    ),
    call(
        LIGER + "fused_add_rms_norm.fused_add_rms_norm",
        lambda X, R, W, eps: (ref.rms(X + R, W, eps), X + R),
        X=f32(8, 512),
        R=f32(8, 512),
        W=f32(512),
        eps=1e-6,
        gradients="X R W",
    ),
    call(
        LIGER + "fused_linear_jsd.fused_linear_jsd",
        lambda student_input, student_weight, teacher_input, teacher_weight: ref.jsd(
            (student_input @ student_weight.T).log_softmax(-1), (teacher_input @ teacher_weight.T).log_softmax(-1)
        ),
        student_input=f32(4, 64),
        student_weight=f32(128, 64),
        teacher_input=f32(4, 64),
        teacher_weight=f32(128, 64),
    ),
    call(
        LIGER + "fused_neighborhood_attention.fused_neighborhood_attention",
        lambda query, key, value: ref.neighbourhood(query, key, value, 5),
        query=f32(1, 2, 64, 64),
        key=f32(1, 2, 64, 64),
        value=f32(1, 2, 64, 64),
        kernel_size=5,
        tolerance=5e-3,
    ),
    call(
        LIGER + "fused_linear_cross_entropy.fused_linear_cross_entropy",
        lambda input, weight, target: F.cross_entropy(input @ weight.T, target),
        input=f32(16, 64),
        weight=f32(200, 64),
        target=below(200, 16),
        gradients="input weight",
    ),
    call(
        LIGER + "grpo_loss.grpo_loss",
        ref.grpo,
        logits=f32(2, 9, 256),
        old_logp=f32(2, 8),
        ref_logp=None,
        completion_ids=below(256, 2, 8),
        advantages=f32(2),
        temperature=0.9,
        beta=0.0,
        inplace=False,
        reduce=False,
        gradients="logits",
    ),
    call(
        LIGER + "geglu.geglu",
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        a=f32(4, 256),
        b=f32(4, 256),
        gradients="a b",
        tolerance=2e-3,
    ),
    call(
        LIGER + "group_norm.group_norm",
        lambda X, W, B, eps: F.group_norm(X, 4, W, B, eps),
        X=f32(4, 8, 16),
        num_channels=8,
        num_groups=4,
        W=f32(8),
        B=f32(8),
        eps=1e-5,
        gradients="X W B",
    ),
    call(
        LIGER + "jsd.jsd",
        lambda input, target: ref.jsd(input, target),
        input=logs(8, 300),
        target=logs(8, 300),
        gradients="input",
    ),
    call(
        LIGER + "kl_div.kl_div",
        lambda y_pred, y_true: F.kl_div(y_pred, y_true, reduction="batchmean"),
        y_pred=logs(8, 300),
        y_true=shares(8, 300),
        gradients="y_pred",
    ),
    call(
        LIGER + "layer_norm.layer_norm",
        lambda X, W, B, eps: F.layer_norm(X, (512,), W, B, eps),
        X=f32(8, 512),
        W=f32(512),
        B=f32(512),
        eps=1e-5,
        gradients="X W B",
    ),
    call(LIGER + "llama4_rope.llama4_rope", _llama4, q=f32(1, 8, 4, 128), k=f32(1, 8, 2, 128), freqs_cis=f32(8, 64, 2)),
    call(
        LIGER + "modulated_rms_norm.modulated_rms_norm",
        lambda X, W, scale, eps: ref.rms(X, W, eps) * (1 + scale[:, None]),
        X=f32(2, 16, 256),
        W=f32(256),
        scale=f32(2, 256),
        eps=1e-6,
        gradients="X W scale",
    ),
    call(
        LIGER + "poly_norm.poly_norm",
        lambda input, weight, bias: ref.poly_norm(input, weight, bias),
        input=f32(8, 256),
        weight=f32(3),
        bias=f32(1),
        gradients="input weight bias",
        tolerance=2e-3,
    ),
    call(
        LIGER + "qwen2vl_mrope.qwen2vl_mrope",
        lambda q, k, cos, sin: [
            ref.rotate(x, ref.sections(cos, [16, 8])[:, None], ref.sections(sin, [16, 8])[:, None]) for x in (q, k)
        ],
        q=f32(1, 4, 8, 64),
        k=f32(1, 2, 8, 64),
        cos=halves("float32", 3, 1, 8, 64),
        sin=halves("float32", 3, 1, 8, 64),
        mrope_section=[16, 8],
    ),
    call(
        LIGER + "relu_squared.relu_squared",
        lambda input: F.relu(input).square(),
        input=bf16(16, 200),
        gradients="input",
    ),
    call(
        LIGER + "rms_norm.rms_norm",
        lambda X, W, eps: ref.rms(X, W, eps),
        X=f32(16, 512),
        W=f32(512),
        eps=1e-6,
        gradients="X W",
    ),
    call(
        LIGER + "rope.rope",
        lambda q, k, cos, sin: [ref.rotate(x, cos[:, None], sin[:, None]) for x in (q, k)],
        q=f32(1, 4, 8, 128),
        k=f32(1, 2, 8, 128),
        cos=halves("float32", 1, 8, 128),
        sin=halves("float32", 1, 8, 128),
    ),
    call(LIGER + "softmax.softmax", lambda input: input.softmax(-1), input=f32(8, 200), gradients="input"),
    call(
        LIGER + "sparsemax.sparsemax", lambda input: ref.sparsemax(input), input=f32(8, 256), dim=-1, gradients="input"
    ),
    call(LIGER + "swiglu.swiglu", lambda a, b: F.silu(a) * b, a=f32(2, 8, 200), b=f32(2, 8, 200), gradients="a b"),
    call(
        LIGER + "tvd.tvd",
        lambda p, q: (p - q).abs().sum() / 2 / p.shape[0],
        p=shares(16, 300),
        q=shares(16, 300),
        reduction="batchmean",
        gradients="p",
    ),
    call(
        UNSLOTH + "cross_entropy_loss.cross_entropy_loss",
        ref.cross_entropy,
        logits=f16(2, 8, 1000),
        labels=below(1000, 2, 8),
        gradients="logits",
    ),
    call(
        UNSLOTH + "fp8.weight_dequant_block",
        lambda x, s: x * ref.blocks_of(s, *x.shape),
        refused=NO_F8,
        x=f8(128, 256),
        s=uniform("float32", 0.1, 1, 1, 2),
        block_size=128,
        dtype=torch.bfloat16,
    ),
    call(UNSLOTH + "fp8.act_quant", lambda x: _quantized(x, 128), refused=NO_F8, x=bf16(16, 256), block_size=128),
    call(
        UNSLOTH + "fp8.w8a8_block_fp8_matmul_cutile",
        lambda A, B, As, Bs: ref.scaled_product(A, B, As, Bs),
        refused=NO_F8,
        A=f8(64, 256),
        B=f8(128, 256),
        As=uniform("float32", 0.1, 1, 64, 2),
        Bs=uniform("float32", 0.1, 1, 1, 2),
        block_size=[128, 128],
        output_dtype=torch.float32,
        tolerance=2e-3,
    ),
    call(
        UNSLOTH + "geglu.geglu_exact_forward",
        lambda gate, up: F.gelu(gate) * up,
        gate=f16(2, 8, 200),
        up=f16(2, 8, 200),
    ),
    call(
        UNSLOTH + "geglu.geglu_approx_forward",
        lambda gate, up: F.gelu(gate, approximate="tanh") * up,
        gate=f16(2, 8, 200),
        up=f16(2, 8, 200),
    ),
    call(
        UNSLOTH + "geglu.geglu_exact_backward",
        _unsloth_geglu("none"),
        DW=f16(16, 200),
        e=f16(16, 200),
        g=f16(16, 200),
        tolerance=1e-2,
    ),
    call(
        UNSLOTH + "geglu.geglu_approx_backward",
        _unsloth_geglu("tanh"),
        DW=f16(16, 200),
        e=f16(16, 200),
        g=f16(16, 200),
        tolerance=1e-2,
    ),
    call(
        UNSLOTH + "layernorm.layernorm",
        lambda X, W, b, eps: F.layer_norm(X, (256,), W, b, eps),
        X=f16(8, 256),
        W=f16(256),
        b=f16(256),
        eps=1e-6,
        gradients="X",
    ),
    call(
        UNSLOTH + "rms_layernorm.rms_layernorm",
        lambda X, W, eps: ref.rms(X, W, eps),
        X=f16(8, 512),
        W=f16(512),
        eps=1e-6,
        gradients="X",
        tolerance=2e-2,
    ),
    call(
        UNSLOTH + "rope_embedding.rope_embedding",
        _roped,
        Q=f16(1, 16, 4, 64),
        cos=uniform("float16", -1, 1, 16, 32),
        sin=uniform("float16", -1, 1, 16, 32),
    ),
    call(
        UNSLOTH + "rope_embedding.rope_embedding_qk",
        lambda Q, K, cos, sin: [ref.rotate(x, cos.repeat(1, 2), sin.repeat(1, 2)) for x in (Q, K)],
        Q=f16(1, 4, 16, 64),
        K=f16(1, 2, 16, 64),
        cos=uniform("float16", -1, 1, 16, 32),
        sin=uniform("float16", -1, 1, 16, 32),
    ),
    call(
        UNSLOTH + "grouped_gemm.grouped_gemm_cutile",
        lambda X, W, m_sizes: ref.ragged_product(X, W, F.pad(m_sizes.cumsum(0), (1, 0))),
        X=f16(64, 64),
        W=f16(4, 64, 64),
        m_sizes=fixed("int32", 16, 8, 40, 0),
        topk=1,
        tolerance=1e-2,
    ),
    call(UNSLOTH + "swiglu.swiglu_fg", lambda e, g: F.silu(e) * g, e=f16(2, 8, 200), g=f16(2, 8, 200)),
    call(UNSLOTH + "swiglu.swiglu_bwd", _unsloth_glu, DW=f16(16, 200), e=f16(16, 200), g=f16(16, 200), tolerance=1e-2),
    call(
        FLASHINFER + "gemm_alpha_beta.gemm_alpha_beta",
        lambda a, b, c: 1.5 * (a @ b.T) + 0.5 * c,
        a=f16(128, 96),
        b=f16(128, 96),
        c=f16(128, 128),
        alpha=1.5,
        beta=0.5,
        tolerance=1e-2,
    ),
    call(
        FLASHINFER + "ragged_bmm.ragged_bmm",
        lambda a, b, m_indptr: ref.ragged_product(a, b, m_indptr),
        a=bf16(100, 128),
        b=bf16(3, 128, 128),
        m_indptr=fixed("int32", 0, 40, 40, 100),
        max_m=60,
        max_m_device=fixed("int32", 60),
        out_dtype=torch.bfloat16,
        tolerance=4e-2,
    ),
    call(
        FLASHINFER + "masked_bmm.masked_bmm",
        lambda a, b, masked_m: torch.where(torch.arange(64)[None, :, None] < masked_m[:, None, None], a @ b, 0.0),
        a=f16(3, 64, 96),
        b=f16(3, 96, 128),
        masked_m=fixed("int32", 64, 64, 64),
        tolerance=1e-2,
    ),
    call(
        "suites.flashinfer.cutile.fmha_decode_bsr.decode_attention_kv_paged",
        lambda q, k_cache, v_cache, k_scale, v_scale: ref.paged(q, k_cache, v_cache, [3, 1], 100, k_scale) * v_scale,
        q=f16(2, 16, 128),
        k_cache=f16(4, 128, 2, 128),
        v_cache=f16(4, 128, 2, 128),
        actual_seq_lens=fixed("int32", [[[100]]], [[[100]]]),
        block_tables=fixed("int32", [3], [1]),
        k_scale=0.09,
        v_scale=2.0,
        max_seq_len=128,
        outputs=empty("float16", 2, 16, 128),
        writes="outputs",
        tolerance=1e-2,
    ),
    call(
        LIGER + "multi_token_attention.multi_token_attention",
        ref.multi_token,
        scores=f32(1, 1, 16, 16),
        weight=f32(1, 1, 3, 3),
        padding=1,
        gradients="scores weight",
    ),
    call(
        "suites.flashinfer.cutile.per_token_group_quant_8bit.per_token_group_quant_8bit",
        lambda x: _quantized(x, 64, 1e-10),
        refused=NO_F8,
        x=bf16(16, 256),
        group_size=64,
        dst_dtype=torch.float8_e4m3fn,
    ),
    call(
        MODELS + "lfm2_moe.kernels.causal_conv1d_prefill.lfm2_causal_conv1d_fn_cutile",
        lambda x, weight: ref.convolution(x, weight),
        x=bf16(1, 64, 100),
        weight=bf16(64, 3),
    ),
    call(
        MODELS + "lfm2_moe.kernels.causal_conv1d_update.lfm2_causal_conv1d_update_cutile",
        _updated,
        x=bf16(1, 256, 1),
        conv_state=bf16(1, 256, 3),
        weight=bf16(256, 3),
    ),
    call(
        MODELS + "qwen3_5.kernels.causal_conv1d_prefill_silu.causal_conv1d_prefill_silu_cutile",
        lambda x, weight: F.silu(ref.convolution(x, weight)[..., 3:]),
        x=bf16(1, 64, 103),
        weight=bf16(64, 4),
        seq_len=100,
    ),
    call(
        MODELS + "qwen3_5.kernels.causal_conv1d_update_silu.causal_conv1d_update_silu_cutile",
        lambda hidden_states, conv_state, weight: F.silu(_updated(hidden_states, conv_state, weight)),
        hidden_states=bf16(1, 256, 1),
        conv_state=bf16(1, 256, 4),
        weight=bf16(256, 4),
    ),
    call(
        MODELS + "olmo3.kernels.dual_rms_norm.dual_rms_norm_cutile",
        lambda q, k, q_weight, k_weight, eps: (ref.rms(q, q_weight, eps), ref.rms(k, k_weight, eps)),
        q=bf16(16, 512),
        k=bf16(16, 512),
        q_weight=bf16(512),
        k_weight=bf16(512),
        eps=1e-5,
    ),
    call(
        MODELS + "olmo3.kernels.rms_norm_residual_add.rms_norm_residual_add_cutile",
        lambda x, residual, weight, eps: residual + ref.rms(x, weight, eps),
        x=bf16(16, 512),
        residual=bf16(16, 512),
        weight=bf16(512),
        eps=1e-5,
    ),
    call(
        MODELS + "olmoe.kernels.residual_add_rms_norm.residual_add_rms_norm_olmoe_cutile",
        lambda residual, x, weight, eps: (residual + x, ref.rms(residual + x, weight, eps)),
        residual=bf16(16, 512),
        x=bf16(16, 512),
        weight=bf16(512),
        eps=1e-5,
    ),
    call(
        MODELS + "qwen3_5.kernels.residual_add_rms_norm.residual_add_rms_norm_cutile",
        lambda residual, x, weight, eps: (residual + x, ref.rms(residual + x, weight, eps, 1.0)),
        residual=bf16(16, 512),
        x=bf16(16, 512),
        weight=bf16(512),
        eps=1e-5,
    ),
    call(
        MODELS + "qwen3_5.kernels.gdr_preprocess.gdr_preprocess_cutile",
        lambda b, a, A_log, dt_bias: (torch.sigmoid(b), -A_log.exp() * F.softplus(a + dt_bias)),
        b=bf16(1, 32, 32),
        a=bf16(1, 32, 32),
        A_log=f32(32),
        dt_bias=f32(32),
    ),
    call(
        MODELS + "qwen3_5.kernels.rms_norm_gated.rms_norm_gated_cutile",
        lambda hidden_states, gate, weight, eps: ref.rms(hidden_states, weight, eps) * F.silu(gate),
        hidden_states=bf16(32, 128),
        gate=bf16(32, 128),
        weight=f32(128),
        eps=1e-5,
    ),
    call(
        MODELS + "qwen3_5.kernels.sigmoid_mul.sigmoid_mul_cutile",
        lambda x, gate: x * torch.sigmoid(gate),
        x=bf16(16, 512),
        gate=bf16(16, 512),
    ),
    call(
        MODELS + "qwen3_5.kernels.silu_and_mul_separate.silu_and_mul_separate_cutile",
        lambda gate, up: F.silu(gate) * up,
        gate=bf16(16, 512),
        up=bf16(16, 512),
    ),
    call(
        "suites.flashinfer.cutile.fmha_prefill_bsr.prefill_attention_kv_paged",
        lambda q, k_cache, v_cache, k_scale, v_scale: (
            ref.prefilled(q, [k_cache[3, :100], k_cache[1, :60]], [v_cache[3, :100], v_cache[1, :60]], k_scale)
            * v_scale
        ),
        q=f16(160, 4, 128),
        k_cache=f16(4, 128, 2, 128),
        v_cache=f16(4, 128, 2, 128),
        actual_seq_lens_q=fixed("int32", [[[100]]], [[[60]]]),
        actual_seq_lens_kv=fixed("int32", [[[100]]], [[[60]]]),
        actual_seq_offset=fixed("int64", 0, 100, 160),
        block_tables=fixed("int32", [3], [1]),
        k_scale=0.09,
        v_scale=2.0,
        num_batch=2,
        max_seq_len=100,
        outputs=empty("float16", 160, 4, 128),
        writes="outputs",
        tolerance=1e-2,
    ),
    call(
        "suites.flashinfer.cutile.fmha_prefill_bsr.prefill_attention_kv_ragged",
        lambda q, k_cache, v_cache, k_scale, v_scale: (
            ref.prefilled(q, list(k_cache.split([100, 60])), list(v_cache.split([100, 60])), k_scale) * v_scale
        ),
        q=f16(160, 4, 128),
        k_cache=f16(160, 2, 128),
        v_cache=f16(160, 2, 128),
        actual_seq_lens_q=fixed("int32", [[[100]]], [[[60]]]),
        actual_seq_lens_kv=fixed("int32", [[[100]]], [[[60]]]),
        actual_seq_offset=fixed("int64", 0, 100, 160),
        block_tables=None,
        k_scale=0.09,
        v_scale=2.0,
        num_batch=2,
        max_seq_len=100,
        outputs=empty("float16", 160, 4, 128),
        writes="outputs",
        tolerance=1e-2,
    ),
    call(
        "suites.flashinfer.cutile.fmha_decode_bsr.decode_mla_kv_paged",
        lambda q, q_rope, kv_cache, k_rope, k_scale, v_scale: (
            ref.latent_attention(q, q_rope, kv_cache[[3, 1], :100], k_rope[[3, 1], :100], k_scale)[0] * v_scale
        ),
        q=f16(2, 16, 128),
        q_rope=f16(2, 16, 64),
        kv_cache=f16(4, 128, 128),
        k_rope=f16(4, 128, 64),
        actual_seq_lens=fixed("int32", [[[100]]], [[[100]]]),
        block_tables=fixed("int32", [3], [1]),
        k_scale=0.09,
        v_scale=2.0,
        max_seq_len=128,
        outputs=empty("float16", 2, 16, 128),
        writes="outputs",
        tolerance=1e-2,
    ),
    call(
        FLASHINFER + "ragged_block_scaled_bmm.ragged_block_scaled_bmm",
        lambda a, b, a_scale, b_scale, m_indptr: ref.ragged_product(
            a * ref.blocks_of(a_scale, *a.shape),
            torch.stack([m * ref.blocks_of(s, *m.shape) for m, s in zip(b, b_scale, strict=True)]),
            m_indptr,
        ),
        refused=NO_F8,
        a=f8(100, 256),
        b=f8(3, 128, 256),
        a_scale=uniform("float32", 0.1, 1, 100, 2),
        b_scale=uniform("float32", 0.1, 1, 3, 1, 2),
        m_indptr=fixed("int32", 0, 40, 40, 100),
        max_m=60,
        max_m_device=fixed("int32", 60),
        tolerance=4e-2,
    ),
    call(
        "suites.flashinfer.cutile.rope_quantize_fp8.rope_quantize_fp8",
        lambda q_rope, k_rope, q_nope, k_nope, cos_sin_cache, pos_ids: _roped_in_eight_bits(
            q_rope, k_rope, q_nope, k_nope, *cos_sin_cache[pos_ids].chunk(2, -1)
        ),
        refused=NO_F8,
        q_rope=f16(5, 4, 64),
        k_rope=f16(5, 64),
        q_nope=f16(5, 4, 128),
        k_nope=f16(5, 128),
        cos_sin_cache=uniform("float32", -1, 1, 16, 64),
        pos_ids=below(16, 5),
        is_neox=False,
        quantize_dtype=torch.float8_e4m3fn,
        quant_scale_q=0.5,
        quant_scale_kv=2.0,
    ),
]
