"""Operations that combine elements in any order."""

from __future__ import annotations

from ir.dialects import cuda_tile as ct

EXACT = (ct.MaxF, ct.MinF, ct.MaxI, ct.MinI, ct.AddI)
"""Operations that give one result in any order."""
IDEMPOTENT = (ct.MaxF, ct.MinF, ct.MaxI, ct.MinI)
"""Of these a tile begins with the initial value in every element, of sums with zeros."""
