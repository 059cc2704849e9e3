"""The commands: their options and their help. What they do lies in ``tracker/cli/``, imported when a command is called."""
