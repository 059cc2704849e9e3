"""The Gaussian mixture of the paper's examples: its keys and its kernels."""
