"""Running PTX: the simulator, and the hand-off to ptxas."""
