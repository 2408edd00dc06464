"""Server-sent events: lines to events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterable, Iterator


@dataclass(frozen=True)
class Event:
    """One event of a session."""

    #: ``fact``, ``live``, ``store``, ``lagged`` or ``end``.
    name: str
    #: Position of a fact; None for all others.
    seq: int | None
    #: The envelope, for a fact a ``types.Fact``.
    data: Any

    @property
    def kind(self) -> str | None:
        """Kind of the fact or of the live event."""
        kind = self.data.get("kind") if isinstance(self.data, dict) else None
        return kind if isinstance(kind, str) else None


def parse(lines: Iterable[bytes]) -> Iterator[Event]:
    """Yields the events of a stream. An event that is cut off is dropped."""
    name, seq = "message", None
    data: list[str] = []
    for raw in lines:
        if not raw.endswith(b"\n"):
            return
        line = raw.decode("utf-8").rstrip("\r\n")
        if not line:
            if data:
                yield Event(name, seq, json.loads("\n".join(data)))
            name, seq, data = "message", None, []
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            name = value
        elif field == "id":
            seq = int(value)
        elif field == "data":
            data.append(value)
