"""Adapters: one file a place where rewards are taken."""
