"""Control tasks."""
