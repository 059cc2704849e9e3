"""Options and help of the commands. Their bodies stand in ``tracker/cli/`` and are imported when a command is called."""
