"""Redistribution: an episode's reward, paid at other steps of it."""
