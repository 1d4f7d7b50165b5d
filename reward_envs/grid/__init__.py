"""Gridworlds."""
