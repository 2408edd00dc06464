"""Errors of the client."""

from __future__ import annotations

from typing import Any


class WindlassError(Exception):
    """Base of all errors of this package."""


class ConnectionFailed(WindlassError):
    """The server could not be reached, or the connection was lost. The request may have been done."""


class StreamEnded(WindlassError):
    """The server ended a stream for a reason that reconnecting does not change."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the stream ended: {reason}")
        #: Reason of the server, for example ``erased``.
        self.reason = reason


class Withdrawn(WindlassError):
    """The awaited input was withdrawn before a turn accepted it."""

    def __init__(self, input: int | None) -> None:
        super().__init__(f"input {input} was withdrawn")


class ApiError(WindlassError):
    """The server answered with an error. ``code`` is stable; ``detail`` is for people."""

    def __init__(self, status: int, code: str, detail: str, retry_after: int | None) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        #: Stable name of the error, one of ``types.ProblemCode``.
        self.code = code
        self.detail = detail
        #: Seconds after which a retry is useful, if the server says so.
        self.retry_after = retry_after


class Unauthorized(ApiError):
    """The token is missing or unknown (401)."""


class NotAllowed(ApiError):
    """The token lacks the right, or the origin or host is not served (403, 421)."""


class NotFound(ApiError):
    """There is no such thing for this token (404)."""


class Conflict(ApiError):
    """The state of the session does not allow the request (409)."""


class Refused(ApiError):
    """The request is well-formed and not allowed (422)."""


class Unavailable(ApiError):
    """The server cannot do it now: retry later (429, 503, 504, 507)."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    421: NotAllowed,
    422: Refused,
    429: Unavailable,
    503: Unavailable,
    504: Unavailable,
    507: Unavailable,
}


def api_error(status: int, problem: Any, retry_after: str | None) -> ApiError:
    """Returns the error of a response."""
    fields = problem if isinstance(problem, dict) else {}
    kind = _BY_STATUS.get(status, ApiError)
    seconds = int(retry_after) if retry_after and retry_after.isdigit() else None
    code = str(fields.get("code", "unknown"))
    return kind(status, code, str(fields.get("detail", "")), seconds)
