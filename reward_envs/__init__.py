"""reward-envs: go from a sparse reward to a learnable one, and know that the result is right."""

from reward_envs.registration import register as _register

__version__ = "0.1.0"

_register()
