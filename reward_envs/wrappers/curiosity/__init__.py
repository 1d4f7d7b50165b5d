"""Curiosity: bonuses for what is new."""
