"""Shaping: rewards read off the transition itself."""
