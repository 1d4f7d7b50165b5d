"""Terminal tasks: a workspace of files, commands of a shell, and checks of what was left."""
