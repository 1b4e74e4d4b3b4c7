"""How long a client waits before it connects again."""

from __future__ import annotations

import random

FIRST, LONGEST = 0.5, 30.0
"""Seconds."""


class Backoff:
    """Half a second, and twice as long each time, up to half a minute, less up to a half of that.

    The share is random: the clients of a hub that restarts do not all come back at one instant.
    """

    def __init__(self, chance: random.Random | None = None) -> None:
        self._failures = 0
        self._chance = chance or random.Random()

    def reset(self) -> None:
        """The hub was there."""
        self._failures = 0

    def next(self, at_least: float | None = None) -> float:
        """Seconds to wait before the next try."""
        wait = min(FIRST * (1 << min(self._failures, 16)), LONGEST)
        self._failures += 1
        return max(wait * self._chance.uniform(0.5, 1), at_least or 0)
