"""This compiler against Triton and tileiras: `python -m benchmarks.peers` counts code, `.timings` takes the seconds."""
