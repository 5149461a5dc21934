"""Random e-graphs small enough for brute force: shared, cyclic, grouped, limited, with rewards."""

import math
import random

from extract import Graph, GraphBuilder


def random_graph(seed: int, *, constrained: bool = True, rewards: bool = True, cyclic: bool = True) -> Graph:
    """2 to 7 classes of 1 to 3 nodes; every feature in a part of the seeds."""
    draw = random.Random(seed)
    classes = draw.randint(2, 7)
    rows = draw.choice([0, 0, 1, 2]) if constrained else 0
    groups = draw.choice([0, 0, 1, 2]) if constrained else 0
    least = -5 if rewards and draw.random() < 0.2 else 0
    builder = GraphBuilder(
        resource_names=[f"row{i}" for i in range(rows)], limit=[float(draw.randint(2, 14)) for _ in range(rows)]
    )
    for cls in range(classes):
        for _ in range(draw.randint(1, 3)):
            if cyclic and draw.random() < 0.4:
                children = [draw.randrange(classes) for _ in range(draw.randint(0, 3))]
            else:
                children = [child for child in (cls + draw.randint(1, 4) for _ in range(3)) if child < classes]
            group = draw.randint(-1, groups - 1) if groups else -1
            builder.add(
                f"f{cls}",
                cls,
                children,
                math.inf if draw.random() < 0.04 else float(draw.randint(least, 9)),
                group=group,
                alternative=draw.randrange(3) if group >= 0 else 0,
                resource=[float(draw.randint(0, 4)) for _ in range(rows)],
            )
    return builder.build([0] if draw.random() < 0.6 else [0, draw.randrange(classes)])
