"""Clusters: tile blocks whose work several CTAs divide, and what those bring to each other's shared memory."""

from lowering.clusters.plan import Division, Refusal, divisions, planned, promising, refuse_cluster
from lowering.clusters.ranks import Ranks

__all__ = ["Division", "Ranks", "Refusal", "divisions", "planned", "promising", "refuse_cluster"]
