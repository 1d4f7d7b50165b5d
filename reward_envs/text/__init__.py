"""Text tasks."""
