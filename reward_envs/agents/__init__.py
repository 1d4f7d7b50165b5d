if __name__ != "reward_envs.agents":
    raise ImportError("import reward_envs.agents, not agents: the top-level link only shows the folder")
