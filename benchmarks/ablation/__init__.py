"""What the families of rules change in kernels as their users write them."""
