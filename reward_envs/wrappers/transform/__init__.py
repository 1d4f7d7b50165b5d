"""Transforms: a reward in, a reward out."""
