"""Row sums of attention reduced in each iteration, and carried by lane: how many differ, and their errors.

python -m benchmarks.lane_sums

Figures of docs/decisions/0005-sums-of-rows-are-reduced-in-each-iteration.md, in NumPy: 4,096 rows of random normal
scores, 64 columns a step, the four lanes of a quad as in the fragments of mma.sync.
"""

from __future__ import annotations

import numpy as np

ROWS, COLUMNS, LANES = 4096, 64, 4
F32 = np.float32


def main() -> None:
    """Print a line for 16 and one for 64 steps."""
    for steps in (16, 64):
        each, carried, exact = sums(np.random.default_rng(0), steps)
        errors = [float(np.abs(found / exact - 1).mean()) for found in (each, carried)]
        differ = float((each != carried).mean())
        print(
            f"{steps} steps: {differ:.0%} differ, mean error {errors[0]:.1e} in each iteration, {errors[1]:.1e} by lane"
        )


def sums(random: np.random.Generator, steps: int) -> list[np.ndarray]:
    """The sums [ROWS] after some steps: reduced in each iteration, carried by lane, and in f64 of the same terms."""
    each, lanes, exact = np.zeros(ROWS, F32), np.zeros((ROWS, LANES), F32), np.zeros(ROWS)
    highest = np.full(ROWS, -np.inf, F32)
    for _ in range(steps):
        scores = random.standard_normal((ROWS, COLUMNS)).astype(F32)
        now = np.maximum(highest, scores.max(1))
        factor, powers = np.exp(highest - now), np.exp(scores - now[:, None])
        highest = now
        held = np.zeros((ROWS, LANES), F32)  # a lane holds columns 8 i + 2 lane and the next one
        for pair in powers.reshape(ROWS, -1, LANES, 2).transpose(1, 3, 0, 2).reshape(-1, ROWS, LANES):
            held = held + pair
        each = each * factor + folded(held)
        lanes = lanes * factor[:, None] + held
        exact = exact * factor.astype(np.float64) + powers.astype(np.float64).sum(1)
    return [each, folded(lanes), exact]


def folded(lanes: np.ndarray) -> np.ndarray:
    """The sum over a quad as its shuffles make it."""
    return (lanes[:, 0] + lanes[:, 1]) + (lanes[:, 2] + lanes[:, 3])


if __name__ == "__main__":
    main()
