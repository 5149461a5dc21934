"""Clusters: tile blocks divided among several CTAs, and the exchanges through their shared memory."""

from lowering.clusters.plan import Division, Refusal, divisions, planned, promising, refuse_cluster
from lowering.clusters.ranks import Ranks

__all__ = ["Division", "Ranks", "Refusal", "divisions", "planned", "promising", "refuse_cluster"]
