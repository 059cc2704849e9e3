"""``python -m tracker`` is the command ``tracker``."""

from tracker.cli import main

if __name__ == "__main__":  # a process that this one spawns reads this file too, by another name
    main()
