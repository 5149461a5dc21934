"""This compiler beside Triton and tileiras: `python -m benchmarks.peers` counts code, `.timings` takes the seconds."""
