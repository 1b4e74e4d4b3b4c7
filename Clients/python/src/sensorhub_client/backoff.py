"""How long a client waits before it connects again."""

from __future__ import annotations

import random

FIRST, LONGEST = 0.5, 30.0
"""In seconds."""


class Backoff:
    """The wait before each attempt: half a second at first, twice as long each time, at most half a minute.

    A random share of up to one half is subtracted, so that the clients of a restarted hub do not all connect at the same instant.
    """

    def __init__(self, chance: random.Random | None = None) -> None:
        self._failures = 0
        self._chance = chance or random.Random()

    def reset(self) -> None:
        """Records that the hub has answered: the next wait is short again."""
        self._failures = 0

    def next(self, at_least: float | None = None) -> float:
        """Seconds to wait before the next attempt."""
        wait = min(FIRST * (1 << min(self._failures, 16)), LONGEST)
        self._failures += 1
        return max(wait * self._chance.uniform(0.5, 1), at_least or 0)
