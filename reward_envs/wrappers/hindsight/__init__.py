"""Hindsight: rows with other goals."""
