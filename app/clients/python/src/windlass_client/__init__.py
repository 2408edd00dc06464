"""Client of the Windlass server.

A session runs on the server and needs no client: what this package holds can be lost at any time.
"""

from .errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    NotAllowed,
    NotFound,
    Refused,
    StreamEnded,
    Unauthorized,
    Unavailable,
    WindlassError,
    Withdrawn,
)
from .client import Client
from .session import Allow, Approver, Deny, Session
from .sse import Event
from .tools import Call, Tool, ToolFailed, tool

__all__ = [
    "Allow",
    "ApiError",
    "Approver",
    "Call",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Deny",
    "Event",
    "NotAllowed",
    "NotFound",
    "Refused",
    "Session",
    "StreamEnded",
    "Tool",
    "ToolFailed",
    "Unauthorized",
    "Unavailable",
    "WindlassError",
    "Withdrawn",
    "tool",
]
