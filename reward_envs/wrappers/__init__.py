if __name__ != "reward_envs.wrappers":
    raise ImportError("import reward_envs.wrappers, not wrappers: the top-level link only shows the folder")

import importlib
from typing import Any

# Adapters and tools by name; the methods themselves come from the registry.
_PUBLIC = {
    "Batch": "batch",
    "HookError": "errors",
    "NonFiniteError": "errors",
    "RewardError": "errors",
    "ScopeError": "errors",
    "TextError": "errors",
    "Masked": "core",
    "Method": "core",
    "Relabel": "core",
    "Rewarder": "runner",
    "Schedule": "runner",
    "Scope": "core",
    "Scored": "runner",
    "Spec": "core",
    "Sum": "core",
    "catalogue": "registry",
    "parse": "registry",
    "register": "registry",
    "methods": "registry",
    "function": "shaping.function",
    "goals_of": "hindsight.relabel",
    "from_minari": "adapters.arrays",
    "relabel": "adapters.arrays",
    "relabel_rows": "adapters.arrays",
    "RecordedMonitor": "adapters.sb3_monitor",
    "RewardWrapper": "adapters.env",
    "VectorRewardWrapper": "adapters.vector",
    "VecReward": "adapters.sb3_vec",
    "with_reward": "adapters.place",
    "sb3": "adapters.sb3_train",
    "RewardRolloutBuffer": "adapters.sb3_rollout",
    "HindsightReplayBuffer": "adapters.sb3_hindsight",
    "RewardReplayBuffer": "adapters.sb3_replay",
    "TrueRewardEvalCallback": "adapters.sb3_evaluate",
    "RewardLogCallback": "adapters.sb3_evaluate",
    "WandbOutputFormat": "adapters.sb3_evaluate",
    "RewardLog": "adapters.log",
    "csv_sink": "adapters.log",
    "tensorboard_sink": "adapters.log",
    "wandb_sink": "adapters.log",
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        module = importlib.import_module(f"reward_envs.wrappers.{_PUBLIC[name]}")
        globals()[name] = value = getattr(module, name)
        return value
    if name == "__all__":
        return __dir__()
    if name.startswith("_"):
        raise AttributeError(f"module 'reward_envs.wrappers' has no attribute {name!r}")
    entries = importlib.import_module("reward_envs.wrappers.registry").methods().values()
    for entry in entries:
        if entry.cls.__name__ == name:
            globals()[name] = entry.cls
            return entry.cls
    raise AttributeError(f"module 'reward_envs.wrappers' has no attribute {name!r}")


def __dir__() -> list[str]:
    entries = importlib.import_module("reward_envs.wrappers.registry").methods().values()
    return sorted({*_PUBLIC, *(e.cls.__name__ for e in entries)})
