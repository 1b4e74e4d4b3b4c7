"""Decides whether, and when, a client comes again after a failure. No I/O, and no clock."""

from __future__ import annotations

import logging

from .backoff import Backoff
from .errors import HubBusy, HubError, HubUnavailable, NotFound
from .models import HoldTicket

logger = logging.getLogger("sensorhub_client")


class Persistence:
    """Of a subscription.

    The first connection fails at once, so that a wrong address is noticed, unless the client waits for its hub. A hub that was
    there comes back: a client that has been served tries again and again. What trying again does not help is always raised.
    """

    def __init__(self, *, wait: bool, reconnect: bool, backoff: Backoff | None = None) -> None:
        self._wait, self._reconnect = wait, reconnect
        self._backoff = backoff or Backoff()
        self._was_served = False
        self._is_out = False

    def served(self) -> None:
        """The hub serves this client."""
        if self._is_out:
            logger.warning("the hub is back")
        self._was_served, self._is_out = True, False

    def heard(self) -> None:
        """A value has come: the next outage starts with short waits."""
        self._backoff.reset()

    def failed(self, error: HubError) -> float:
        """Seconds to wait before the next try.

        :raises HubError: the same, if there is to be none
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
    """Keeps a hold alive."""

    def __init__(self, device: str, seconds: float, ticket: HoldTicket, backoff: Backoff | None = None) -> None:
        self.device, self.seconds = device, seconds
        self.ticket: HoldTicket | None = ticket
        """``None`` while the hub knows of none."""
        self._backoff = backoff or Backoff()

    @property
    def pause(self) -> float:
        """Seconds between two prolongations: one that fails is tried twice more before the hold is over."""
        return self.seconds / 3

    def prolonged(self, ticket: HoldTicket) -> float:
        """Seconds to wait before the next prolongation."""
        self.ticket = ticket
        self._backoff.reset()
        return self.pause

    def failed(self, error: HubError) -> float:
        """Seconds to wait before the next try, which takes a new hold if the hub has forgotten this one."""
        if isinstance(error, NotFound) and self.ticket is not None:
            self.ticket = None
            return 0
        delay = self._backoff.next(error.retry_after if isinstance(error, HubBusy) else None)
        logger.warning("the hold on %s: %s; trying again", self.device, error)
        return delay
