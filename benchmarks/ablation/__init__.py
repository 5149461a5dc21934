"""The effect of the families of rules on kernels as their users write them."""
