"""Clusters: tile blocks whose work several CTAs divide, and what those bring to each other's shared memory."""

from lowering.clusters.plan import Refusal, planned, refuse_cluster
from lowering.clusters.ranks import Ranks

__all__ = ["Ranks", "Refusal", "planned", "refuse_cluster"]
