"""Clusters: tile blocks whose work several CTAs divide, and what those bring to each other's shared memory."""

from lowering.clusters.plan import Refusal, planned, refuse_cluster

__all__ = ["Refusal", "planned", "refuse_cluster"]
