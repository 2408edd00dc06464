"""Client: one server and one token."""

from __future__ import annotations

import http.client
import json
import socket
import time
import uuid
from typing import Any, Iterator, Sequence
from urllib.parse import quote, urlencode, urlsplit

from .errors import ApiError, ConnectionFailed, StreamEnded, Unavailable, api_error
from .session import Session
from .sse import Event, parse
from .tools import Tool
from .types import Session as SessionInfo

#: Seconds without a byte after which a stream counts as lost. The server sends one every 15 seconds.
_SILENCE_S = 45.0
#: First and longest pause before a retry, in seconds.
_PAUSE_S, _PAUSE_MAX_S = 0.1, 2.0


class Client:
    """Speaks to one server with one token. Holds no connection open and no state of sessions.

    ``retry_s`` is how long a request is repeated while the server cannot be reached or is not ready,
    and how long a stream tries to reconnect. Requests that change something carry an idempotency key,
    so a repeated one takes effect once.
    """

    def __init__(self, url: str, token: str, *, retry_s: float = 30.0, timeout_s: float = 75.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the URL of a server: http://HOST:PORT")
        self._https = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._token = token
        self.retry_s, self.timeout_s = retry_s, timeout_s

    def open(self, *, tools: Sequence[Tool] = (), key: str | None = None, **options: Any) -> Session:
        """Opens a session. ``options`` are the fields of ``types.SessionOptions``, such as
        ``permissions="ask"``. With the same ``key`` the same session is found again."""
        body = {**options, "client_tools": [tool.declaration() for tool in tools]}
        opened: SessionInfo = self.request("POST", "/sessions", body, key=key or new_key())
        return Session(self, opened["id"], tools)

    def session(self, id: str, *, tools: Sequence[Tool] = ()) -> Session:
        """Returns a session that exists, for example after a restart of this process. ``tools`` run
        its calls from here on."""
        return Session(self, id, tools)

    def sessions(self, **query: Any) -> Iterator[SessionInfo]:
        """Lists the sessions of the tenant, by id, over all pages."""
        after = None
        while True:
            page = self.request("GET", with_query("/sessions", {**query, "after": after}))
            yield from page["sessions"]
            after = page["next"]
            if after is None:
                return

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Sends a request below ``/v1`` and returns its JSON. Repeats it while the server is away, if
        that can do no harm: a GET, a DELETE, or a request with a key.

        Raises `ApiError` for an error of the server, `ConnectionFailed` without an answer."""
        repeats = key is not None or method in ("GET", "DELETE")
        until, pause = time.monotonic() + self.retry_s, _PAUSE_S
        sent = dict(headers or {})
        if key is not None:
            sent["Idempotency-Key"] = key
        while True:
            try:
                return self._once(method, path, body, sent)
            except (ConnectionFailed, Unavailable) as error:
                wait = pause
                if isinstance(error, ApiError):
                    if error.status not in (503, 504):
                        raise
                    wait = max(pause, float(error.retry_after or 0))
                if not repeats or time.monotonic() + wait > until:
                    raise
                time.sleep(wait)
                pause = min(pause * 2, _PAUSE_MAX_S)

    def _once(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        connection = self._connection(self.timeout_s)
        try:
            response = self._send(connection, method, path, body, headers)
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionFailed(f"{method} {path}: {error or type(error).__name__}") from error
        finally:
            connection.close()
        return self._answer(response, text)

    def _answer(self, response: http.client.HTTPResponse, text: bytes) -> Any:
        try:
            read = json.loads(text) if text else None
        except ValueError:
            read = None
        if response.status >= 400:
            raise api_error(response.status, read, response.getheader("Retry-After"))
        return read

    def stream(self, session: str, after: int | None = None, live: bool = True) -> Iterator[Event]:
        """Yields the events of a session after a position, from its beginning by default, for ever.

        Reconnects with its cursor when the connection is lost: each fact comes once, in order. Live
        text begins again on each connection, after an event of the name ``reconnected``.

        Raises `StreamEnded` when the server says that there is no more, `ApiError` when it refuses,
        `ConnectionFailed` when it cannot be reached for ``retry_s``."""
        pause, until = _PAUSE_S, time.monotonic() + self.retry_s
        first = True
        while True:
            try:
                for event in self._connected(session, after, live, first):
                    first = False
                    pause, until = _PAUSE_S, time.monotonic() + self.retry_s
                    if event.seq is not None:
                        after = event.seq
                    reason = event.data.get("reason") if event.name == "end" else None
                    if reason is not None and reason not in ("draining", "store_away"):
                        raise StreamEnded(str(reason))
                    if event.name not in ("end", "lagged"):
                        yield event
                failure: Exception = ConnectionFailed(f"the stream of {session} was cut off")
            except ConnectionFailed as error:
                failure = error
            except Unavailable as error:
                if error.status != 503:
                    raise
                failure = error
            if time.monotonic() + pause > until:
                raise failure
            time.sleep(pause)
            pause = min(pause * 2, _PAUSE_MAX_S)

    def _connected(
        self, session: str, after: int | None, live: bool, first: bool
    ) -> Iterator[Event]:
        query = {"after": after, "live": None if live else "false"}
        path = with_query(f"/sessions/{quote(session)}/events", query)
        connection = self._connection(_SILENCE_S)
        try:
            response = self._send(connection, "GET", path, None, {"Accept": "text/event-stream"})
            if response.status != 200:
                self._answer(response, response.read())
            if not first:
                yield Event("reconnected", None, {})
            yield from parse(response)
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionFailed(f"the stream of {session}: {error}") from error
        finally:
            connection.close()

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._https else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=timeout_s)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str],
    ) -> http.client.HTTPResponse:
        sent = {"Authorization": f"Bearer {self._token}", **headers}
        text = None
        if body is not None:
            text = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.request(method, f"{self._base}/v1{path}", text, sent)
        return connection.getresponse()


def new_key() -> str:
    """Returns a new idempotency key."""
    return uuid.uuid4().hex


def with_query(path: str, query: dict[str, Any]) -> str:
    """Adds the parameters that are not None."""
    told = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in query.items()
        if value is not None
    }
    return f"{path}?{urlencode(told)}" if told else path
