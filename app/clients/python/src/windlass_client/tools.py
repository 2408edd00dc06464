"""Tools that run in the client. The session waits durably for the results of their calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from .types import EffectClass


class ToolFailed(Exception):
    """Raised by a tool to tell the model that its call failed, with the reason in words."""


@dataclass(frozen=True)
class Call:
    """The call that a tool runs."""

    session: str
    turn: int
    #: Number of the call: the position of its fact.
    call: int
    tool: str
    #: The same for each delivery of this call. A tool that changes something passes it on, or
    #: remembers it, so that a call that is delivered twice takes effect once.
    idempotency_key: str
    #: Time after which the result is not awaited any more, in milliseconds since 1970.
    deadline: int


@dataclass(frozen=True)
class Tool:
    """A tool that this client runs.

    ``run`` gets the arguments, which fit ``parameters``, and the call. It returns the text for the
    model, or raises `ToolFailed`. A client that dies before the result is durable gets the same call
    again.
    """

    name: str
    description: str
    #: JSON Schema of the arguments, an object schema.
    parameters: dict[str, Any]
    #: ``read_only``, ``idempotent`` or ``effectful``. The session's permissions apply to it.
    effect: EffectClass
    run: Callable[[dict[str, Any], Call], str]
    #: Longest wait for the result of a call, in milliseconds; by default an hour.
    timeout_ms: int | None = None

    def declaration(self) -> dict[str, Any]:
        """Returns what the server is told of it."""
        declared: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "effect": self.effect,
        }
        if self.timeout_ms is not None:
            declared["timeout_ms"] = self.timeout_ms
        return declared


def tool(
    effect: EffectClass, parameters: dict[str, Any], *, name: str | None = None
) -> Callable[[Callable[[dict[str, Any], Call], str]], Tool]:
    """Makes a function a tool. Its name and its doc comment are those of the tool."""

    def made(run: Callable[[dict[str, Any], Call], str]) -> Tool:
        words = (run.__doc__ or "").strip()
        return Tool(name or run.__name__, words, parameters, effect, run)

    return made
