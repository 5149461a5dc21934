"""What is done to a Tile IR entry before it becomes terms: what is refused, loops unrolled or sliced, counters."""
