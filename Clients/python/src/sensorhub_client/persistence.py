"""Decides whether, and when, a client tries again after a failure. No I/O, and no clock."""

from __future__ import annotations

import logging

from .backoff import Backoff
from .errors import HubBusy, HubError, HubUnavailable, NotFound
from .models import HoldTicket

logger = logging.getLogger("sensorhub_client")


class Persistence:
    """Decides about the attempts of one subscription.

    If the first connection fails, the error is raised, so that a wrong address is noticed; with ``wait`` the client waits for its
    hub instead. After the hub has served the client once, the client tries again after each loss. Errors that another attempt
    cannot remove are always raised.
    """

    def __init__(self, *, wait: bool, reconnect: bool, backoff: Backoff | None = None) -> None:
        self._wait, self._reconnect = wait, reconnect
        self._backoff = backoff or Backoff()
        self._was_served = False
        self._is_out = False

    def served(self) -> None:
        """Records that the hub serves this client."""
        if self._is_out:
            logger.warning("the hub is back")
        self._was_served, self._is_out = True, False

    def heard(self) -> None:
        """Records that a value has arrived: the next outage begins with short waits."""
        self._backoff.reset()

    def failed(self, error: HubError) -> float:
        """Seconds to wait before the next attempt.

        :raises HubError: the given error, if there will be no other attempt
        """
        is_retried = self._reconnect if self._was_served else self._wait
        if not isinstance(error, HubUnavailable) or not is_retried:
            raise error
        delay = self._backoff.next(error.retry_after if isinstance(error, HubBusy) else None)
        if not self._is_out:
            logger.warning("%s; trying again", error)
        self._is_out = True
        return delay


class HoldPlan:
    """Decides when to prolong a hold."""

    def __init__(self, device: str, seconds: float, ticket: HoldTicket, backoff: Backoff | None = None) -> None:
        self.device, self.seconds = device, seconds
        self.ticket: HoldTicket | None = ticket
        """``None`` while the hub has no such hold."""
        self._backoff = backoff or Backoff()

    @property
    def pause(self) -> float:
        """Seconds between two prolongations. If one fails, there is time for two more before the hold ends."""
        return self.seconds / 3

    def prolonged(self, ticket: HoldTicket) -> float:
        """Seconds to wait before the next prolongation."""
        self.ticket = ticket
        self._backoff.reset()
        return self.pause

    def failed(self, error: HubError) -> float:
        """Seconds to wait before the next attempt. If the hub has forgotten the hold, that attempt takes a new one."""
        if isinstance(error, NotFound) and self.ticket is not None:
            self.ticket = None
            return 0
        delay = self._backoff.next(error.retry_after if isinstance(error, HubBusy) else None)
        logger.warning("the hold on %s: %s; trying again", self.device, error)
        return delay
