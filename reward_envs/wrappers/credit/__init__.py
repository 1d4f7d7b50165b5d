"""Credit: advantages of the episodes of a group."""
