"""The rollout buffers of sb3_contrib's MaskablePPO; needs `pip install "reward-envs[contrib]"`."""

from __future__ import annotations

from sb3_contrib.common.maskable.buffers import MaskableDictRolloutBuffer, MaskableRolloutBuffer

from reward_envs.wrappers.adapters.sb3_rollout import RewardRolloutBuffer


class RewardMaskableRolloutBuffer(RewardRolloutBuffer, MaskableRolloutBuffer):  # type: ignore[misc]  # masks
    """`RewardRolloutBuffer` that holds action masks."""


class RewardMaskableDictRolloutBuffer(RewardRolloutBuffer, MaskableDictRolloutBuffer):  # type: ignore[misc]
    """The same for observations that are dicts."""
