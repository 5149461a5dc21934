"""What PyTorch computes where it has no one function for an operator."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def rms(x: Tensor, weight: Tensor, eps: float, offset: float = 0.0) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * (weight + offset)


def scores_mask(rows: int, columns: int, is_causal: bool, window: int = 0) -> Tensor:
    """Which keys a row of queries sees; the last query is aligned with the last key."""
    at = torch.arange(rows)[:, None] + columns - rows - torch.arange(columns)[None]
    seen = torch.ones(rows, columns, dtype=torch.bool)
    if is_causal:
        seen &= at >= 0
    return seen & (at < window) if window else seen


def attention(
    q: Tensor, k: Tensor, v: Tensor, scaling: float, is_causal: bool = False, window: int = 0, soft_cap: float = 0.0,
    sinks: Tensor | None = None, more: Tensor | float = 0.0,
) -> Tensor:  # fmt: skip
    """Attention of [batch, heads, length, size]; heads of queries share those of keys. `more`: added to scores."""
    heads = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(heads, 1), v.repeat_interleave(heads, 1)
    scores = (q @ k.mT + more) * scaling
    if soft_cap:
        scores = soft_cap * torch.tanh(scores / soft_cap)
    seen = scores_mask(q.shape[2], k.shape[2], is_causal, window)
    scores = scores.masked_fill(~seen, -math.inf)
    if sinks is not None:
        column = sinks[None, :, None, None].expand(*scores.shape[:3], 1)
        return torch.cat([scores, column], -1).softmax(-1)[..., :-1] @ v
    return scores.softmax(-1) @ v


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of halves; cos and sin have both halves."""
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def experts(x: Tensor, w1: Tensor, w2: Tensor, weights: Tensor, ids: Tensor) -> Tensor:
    """A mixture of gated experts."""
    out = torch.zeros(x.shape[0], w2.shape[1])
    for token in range(x.shape[0]):
        for weight, expert in zip(weights[token], ids[token], strict=True):
            gate, up = (w1[expert] @ x[token]).chunk(2)
            out[token] += weight * (w2[expert] @ (F.silu(gate) * up))
    return out


def gated_delta(query: Tensor, key: Tensor, value: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """The gated delta rule, one step after the other; [batch, length, heads, size]."""
    query = query * query.shape[-1] ** -0.5
    state = torch.zeros(query.shape[0], query.shape[2], key.shape[-1], value.shape[-1])
    out: list[Tensor] = []
    for t in range(query.shape[1]):
        k, v, q = key[:, t], value[:, t], query[:, t]
        state = state * g[:, t].exp()[..., None, None]
        delta = (v - (state * k[..., None]).sum(-2)) * beta[:, t][..., None]
        state = state + k[..., None] * delta[..., None, :]
        out.append((state * q[..., None]).sum(-2))
    return torch.stack(out, 1)


def blocks_of(scales: Tensor, rows: int, columns: int) -> Tensor:
    """A scale for each element, of one for each block."""
    tall, wide = -(-rows // scales.shape[0]), -(-columns // scales.shape[1])
    return scales.repeat_interleave(tall, 0)[:rows].repeat_interleave(wide, 1)[:, :columns]


def scaled_product(a: Tensor, b: Tensor, a_scales: Tensor, b_scales: Tensor) -> Tensor:
    """A times B transposed, both with a scale for each block."""
    return (a * blocks_of(a_scales, *a.shape)) @ (b * blocks_of(b_scales, *b.shape)).T


def convolution(x: Tensor, weight: Tensor) -> Tensor:
    """A causal convolution of each channel by itself; [batch, channels, length]."""
    taps = weight.shape[1]
    return F.conv1d(F.pad(x, (taps - 1, 0)), weight[:, None], groups=weight.shape[0])


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean over labels."""
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def jsd(q: Tensor, p: Tensor, beta: float = 0.5) -> Tensor:
    """The generalised Jensen-Shannon divergence of two logarithms of distributions, by the number of rows."""
    m = beta * p.exp() + (1 - beta) * q.exp()
    left = F.kl_div(m.log(), p, reduction="sum", log_target=True)
    right = F.kl_div(m.log(), q, reduction="sum", log_target=True)
    return (beta * left + (1 - beta) * right) / q.flatten(0, -2).shape[0]


def sparsemax(x: Tensor) -> Tensor:
    """Projection of rows on the simplex."""
    ordered = x.sort(-1, descending=True).values
    sums = ordered.cumsum(-1) - 1
    count = torch.arange(1, x.shape[-1] + 1)
    size = (ordered * count > sums).sum(-1, keepdim=True)
    return (x - sums.gather(-1, size - 1) / size).clamp(min=0)


def latent_attention(q: Tensor, qpe: Tensor, kv: Tensor, kpe: Tensor, sm_scale: float) -> tuple[Tensor, Tensor]:
    """Attention of one query a head over latent keys that are the values too, and logarithms (to base 2) of sums."""
    scores = (torch.einsum("bhd,bsd->bhs", q, kv) + torch.einsum("bhd,bsd->bhs", qpe, kpe)) * sm_scale
    return torch.einsum("bhs,bsd->bhd", scores.softmax(-1), kv), scores.logsumexp(-1) / math.log(2)


def dropout(x: Tensor, seed: int, p: float) -> Tensor:
    """What is kept is said by TileGym's hash of places and the seed, in 32 bits."""
    from tilegym.ops.cutile.dropout import _mix_seed

    hashed = torch.arange(x.numel(), dtype=torch.int32) * 1103515245 + _mix_seed(seed)
    hashed ^= hashed >> 16
    hashed ^= hashed << 8
    hashed ^= hashed >> 4
    kept = (hashed & 0x7FFFFFFF).float() / 2147483647.0 > p
    return torch.where(kept, x / (1 - p), 0.0)


def sections(cos: Tensor, parts: list[int]) -> Tensor:
    """Of three rotations (time, height, width) a section each of the first half, repeated in the second."""
    half = cos.shape[-1] // 2
    sizes = [*parts, half - sum(parts)]
    chosen = [part[i] for i, part in enumerate(cos[..., :half].split(sizes, -1))]
    return torch.cat(chosen, -1).repeat(1, 1, 2)


def neighbourhood(q: Tensor, k: Tensor, v: Tensor, size: int) -> Tensor:
    """Attention to so many keys around each query."""
    at = torch.arange(q.shape[2])
    seen = (at[:, None] - at[None]).abs() <= size // 2
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~seen, -math.inf)
    return scores.softmax(-1) @ v


def poly_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-6) -> Tensor:
    """Weighted normed powers."""
    powers = [x**n * torch.rsqrt((x**n).square().mean(-1, keepdim=True) + eps) for n in (3, 2, 1)]
    return sum(w * p for w, p in zip(weight, powers, strict=True)) + bias


def ragged_product(a: Tensor, b: Tensor, bounds: Tensor) -> Tensor:
    """Rows of each part times the transpose of its own matrix."""
    parts = zip(bounds[:-1].tolist(), bounds[1:].tolist(), b, strict=True)
    return torch.cat([a[first:last] @ each.T for first, last, each in parts])


def sinkhorn(y: Tensor, n: int, rounds: int = 20) -> Tensor:
    """The last n x n columns as matrices whose rows and columns come to sum up to one."""
    matrices = y[:, 2 * n :].reshape(-1, n, n).exp()
    for _ in range(rounds):
        matrices = matrices / matrices.sum(-1, keepdim=True)
        matrices = matrices / matrices.sum(-2, keepdim=True)
    return torch.cat([y[:, : 2 * n], matrices.flatten(1)], 1)


def grpo(
    logits: Tensor, old_logp: Tensor, completion_ids: Tensor, advantages: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """The clipped loss of each token, and whether it is clipped."""
    logp = (logits[:, :-1] / temperature).log_softmax(-1).gather(-1, completion_ids[..., None])[..., 0]
    ratio, gains = (logp - old_logp).exp(), advantages[:, None]
    clipped = ((ratio < 0.8) & (gains < 0)) | ((ratio > 1.2) & (gains > 0))
    return -torch.minimum(ratio * gains, ratio.clamp(0.8, 1.2) * gains), clipped.float()


def paged(q: Tensor, keys: Tensor, values: Tensor, pages: list[int], length: int, scaling: float) -> Tensor:
    """Attention of one query a head to the first keys of one page for each sequence; pages [length, heads, size]."""
    k, v = (each[pages][:, :length].transpose(1, 2) for each in (keys, values))
    return attention(q[:, :, None], k, v, scaling)[:, :, 0]


def rms_scaled(
    x: Tensor, w: Tensor, n: int, alpha_pre: float, alpha_post: float, alpha_res: float, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """Products of rows over their root mean square, n columns through a sigmoid, n through twice one; and the roots."""
    root = x.square().mean(-1, keepdim=True).sqrt()
    scale = torch.tensor([alpha_pre] * n + [alpha_post] * n + [alpha_res] * (w.shape[1] - 2 * n))
    made = (x @ w) * scale / root + bias
    return torch.cat([made[:, :n].sigmoid(), 2 * made[:, n : 2 * n].sigmoid(), made[:, 2 * n :]], 1), root


def residual_streams(x: Tensor, f_out: Tensor, y: Tensor, n: int) -> Tensor:
    """Streams mixed by a matrix for each row, and what a layer gives added to each with its own factor."""
    streams = y[:, 2 * n :].reshape(-1, n, n) @ x.reshape(x.shape[0], n, -1)
    return (streams + y[:, n : 2 * n, None] * f_out[:, None]).reshape(x.shape)


def multi_token(scores: Tensor, weight: Tensor, padding: int) -> Tensor:
    """Causal attention weights, convolved, and causal again."""
    seen = scores_mask(scores.shape[-2], scores.shape[-1], True)
    weights = scores.masked_fill(~seen, -1e9).softmax(-1)
    return torch.where(seen, F.conv2d(weights, weight, padding=padding), 0.0)


def state_space(
    x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor, dt: Tensor, init_state: Tensor
) -> tuple[Tensor, Tensor]:
    """The state space of Mamba 2, one step after the other; [batch, length, heads, size]."""
    state = init_state
    out: list[Tensor] = []
    for t in range(x.shape[1]):
        step = dt[:, t, :, None, None]
        state = state * (a[None, :, None, None] * step).exp() + step * x[:, t, :, :, None] * b[:, t, :, None, :]
        out.append((state * c[:, t, :, None, :]).sum(-1) + d[None, :, None] * x[:, t])
    return torch.stack(out, 1), state


def state_space_backward(
    x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor, dt: Tensor, init_state: Tensor, dout: Tensor,
    dfinal_state: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Gradients of all that `state_space` takes."""
    given = [each.detach().requires_grad_() for each in (x, a, b, c, d, dt, init_state)]
    return torch.autograd.grad(state_space(*given), given, (dout, dfinal_state))


def prefilled(q: Tensor, keys: list[Tensor], values: list[Tensor], scaling: float) -> Tensor:
    """Causal attention of sequences one behind the other; [length, heads, size]."""
    out: list[Tensor] = []
    parts = zip(q.split([each.shape[0] for each in keys]), keys, values, strict=True)
    for part in parts:
        queries, k, v = (each.transpose(0, 1)[None] for each in part)
        out.append(attention(queries, k, v, scaling, is_causal=True)[0].transpose(0, 1))
    return torch.cat(out)


def expert_gradients(
    dout: Tensor, h: Tensor, w2: Tensor, topk_scores: Tensor, expert_frequency_offset: Tensor, x_gather_idx: Tensor,
    s_scatter_idx: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Of gated experts: gradients of gates and factors, of scores, and what the experts made, times scores."""
    bounds = expert_frequency_offset.tolist()
    rows = dout[x_gather_idx.long()]
    parts = zip(bounds[:-1], bounds[1:], w2, strict=True)
    dy = torch.cat([rows[first:last] @ each.T for first, last, each in parts])
    score = topk_scores[s_scatter_idx.long()][:, None]
    gate, up = h.chunk(2, -1)
    share = gate.sigmoid()
    made = gate * share * up
    slope = share * (1 + gate * (1 - share))
    return torch.cat([dy * up * slope, dy * gate * share], 1) * score, (dy * made).sum(-1), made * score


def pairs_turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of neighbours along the last dimension."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1).flatten(-2)


FOUR_BITS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""What e2m1 has, by its code. Source: OCP Microscaling Formats 1.0, section 5.3.3."""


def four_bits(x: Tensor, s_enc: float = 1.0) -> tuple[Tensor, Tensor]:
    """Codes of e2m1, two a byte, and a scale in e4m3 for each 16 elements, in blocks of 128 x 4 whose rows of 32 lie
    beside each other. Source: TileGym's nvfp4_quantize, of which the layout is.
    """
    groups = x.reshape(x.shape[0], -1, 16)
    scale = (groups.abs().amax(-1, keepdim=True) / 6.0 * s_enc).clamp(min=1.5258789e-05).to(torch.float8_e4m3fn)
    wanted = (groups * (s_enc / scale.float())).reshape(x.shape)
    levels = torch.tensor(FOUR_BITS)
    middles = (levels[1:] + levels[:-1]) / 2
    size = wanted.abs().clamp(max=6.0)
    below, above = torch.searchsorted(middles, size), torch.searchsorted(middles, size, right=True)
    code = torch.where(below % 2 == 0, below, above) | (wanted.signbit().long() << 3)  # a tie goes to the even code
    packed = (code[:, 0::2] | code[:, 1::2] << 4).to(torch.uint8)
    bits = scale[..., 0].view(torch.uint8).reshape(x.shape[0] // 128, 4, 32, -1, 4)
    return packed, bits.permute(0, 3, 2, 1, 4).flatten()
