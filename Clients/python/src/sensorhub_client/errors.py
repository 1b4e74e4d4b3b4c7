"""The errors of this package. Each message says what happened and what to do now."""

from __future__ import annotations


class HubError(Exception):
    """The base of all errors of this package.

    ``advice`` is the next step, and also the end of the message.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(f"{message}; {advice}" if advice else message)
        self.advice = advice


class HubUnavailable(HubError):
    """No hub answers, or the connection to it is lost. Trying again later may help."""


class HubBusy(HubUnavailable):
    """The hub has reached its limit of clients, streams or holds.

    ``retry_after`` is the wait that the hub suggests, in seconds.
    """

    def __init__(self, message: str, advice: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, advice)
        self.retry_after = retry_after


class AccessDenied(HubError):
    """The hub does not admit this client: the token, the host name or a permission is wrong."""


class RequestRefused(HubError):
    """The hub does not know the request, or does not offer it. The message contains the hub's answer."""


class NotFound(RequestRefused):
    """There is no such device, hold or recording on this hub."""


class NeedsWebPort(HubError):
    """The call needs HTTP, and this hub was reached through its socket."""


class ProtocolError(HubError):
    """The answer is invalid: another program has answered, or a hub of another version."""
