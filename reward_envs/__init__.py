"""reward-envs: go from a sparse reward to a learnable one, and know that the result is right."""

__version__ = "0.1.0"
