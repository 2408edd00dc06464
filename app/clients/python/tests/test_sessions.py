"""Inputs, turns, streams and approvals over a real server."""

from __future__ import annotations

import http.client
import itertools
import socket
import threading
import time
from typing import Any, Iterator

import pytest
from conftest import Server

from windlass_client import (
    Allow,
    Client,
    Conflict,
    ConnectionFailed,
    Deny,
    Event,
    NotFound,
    Refused,
    Unauthorized,
)

SLOWLY = "slowly: " + "word " * 2000


def until_started(session: Any) -> int:
    """Waits until the model is asked, and returns the turn."""
    for event in session.events(live=False):
        if event.kind == "SampleStarted":
            return int(event.data["turn"])
    raise AssertionError


def test_a_turn_runs_to_its_answer(server: Server, client: Client) -> None:
    (server.workspace / "README.md").write_text("# A winch\n")
    session = client.open()
    turn = session.run("Read README.md")
    assert turn["outcome"] == {"outcome": "completed"}
    assert turn["answer"] is not None and "A winch" in turn["answer"]
    assert [one["id"] for one in client.sessions()] == [session.id]


def test_an_answer_streams_while_it_is_made(client: Client) -> None:
    session = client.open()
    turn = session.send(SLOWLY)["turn"]
    assert turn is not None
    heard, stopped = "", False

    def hear(event: Event) -> None:
        nonlocal heard, stopped
        if event.name == "live":
            heard += event.data["body"].get("text", "")
        if "word word word" in heard and not stopped:
            stopped = session.interrupt() == turn

    settled = session.resume(on_event=hear)
    assert settled is not None and settled["turn"] == turn
    assert settled["answer"] and heard.startswith(settled["answer"][:14])


def test_the_same_key_is_the_same_session_and_the_same_turn(client: Client) -> None:
    session = client.open(key="once")
    assert client.open(key="once").id == session.id
    first = session.run("Hello", key="hello")
    assert session.run("Hello", key="hello") == first
    with pytest.raises(Refused) as refused:
        session.send("Other words", key="hello")
    assert refused.value.code == "key_reused"


class Cut:
    """A response whose connection is cut after so many lines, within an event."""

    def __init__(self, response: http.client.HTTPResponse, sock: socket.socket) -> None:
        self.response, self.sock, self.status = response, sock, response.status

    def __iter__(self) -> Iterator[bytes]:
        yield from itertools.islice(self.response, 18)
        self.sock.shutdown(socket.SHUT_RDWR)
        raise ConnectionResetError("cut")


class CutClient(Client):
    """Cuts its first streams of events."""

    cuts = 0

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str],
    ) -> Any:
        response = super()._send(connection, method, path, body, headers)
        if "/events" in path and self.cuts < 3:
            self.cuts += 1
            return Cut(response, connection.sock)
        return response


def test_a_stream_that_is_cut_goes_on_at_its_cursor(server: Server, client: Client) -> None:
    session = client.open()
    session.run("repeat 3: list_dir {\"path\": \".\"}")
    cut = CutClient(server.url, server.token)
    seen = []
    for event in cut.stream(session.id):
        if event.seq is not None:
            seen.append(event.seq)
        if event.kind == "TurnSettled":
            break
    assert cut.cuts == 3
    assert seen == list(range(1, len(seen) + 1))
    rest = [event.seq for event in _facts(client, session.id, after=seen[-3])]
    assert rest == seen[-2:]


def _facts(client: Client, session: str, after: int) -> Any:
    for event in client.stream(session, after=after, live=False):
        yield event
        if event.kind == "TurnSettled":
            return


def test_a_steered_turn_goes_on_with_the_word_of_its_user(client: Client) -> None:
    session = client.open()
    turn = session.send(SLOWLY)["turn"]
    assert turn is not None and until_started(session) == turn
    steered = session.steer("Hello", turn=turn)
    assert steered["turn"] is None
    settled = session.turn(turn, wait_s=60)
    assert settled["state"] == "settled"
    assert settled["answer"] is not None and settled["answer"].startswith("Hello!")


def test_an_interrupted_turn_says_so(client: Client) -> None:
    session = client.open()
    turn = session.send(SLOWLY)["turn"]
    assert turn is not None
    until_started(session)
    assert session.interrupt("enough") == turn
    settled = session.turn(turn, wait_s=30)
    assert settled["outcome"] is not None
    assert settled["outcome"]["outcome"] == "interrupted"
    assert settled["outcome"].get("reason") == "enough"
    with pytest.raises(Conflict) as idle:
        session.interrupt(turn=turn)
    assert idle.value.code == "turn_over"
    assert session.resume() is None


def test_a_person_allows_edits_and_denies(server: Server, client: Client) -> None:
    session = client.open(permissions="ask")
    asked = []

    def edit(approval: Any) -> Allow:
        asked.append(approval["tool"])
        return Allow(arguments={"path": "a.txt", "content": "edited\n"})

    session.run("write a.txt: hello", approve=edit)
    assert asked == ["write_file"]
    assert (server.workspace / "a.txt").read_text() == "edited\n"
    session.run("write b.txt: hello", approve=lambda _: Deny("not on a Friday"))
    assert not (server.workspace / "b.txt").exists()
    with pytest.raises(NotFound):
        client.session("01none").info()


def test_errors_are_typed(server: Server, client: Client) -> None:
    with pytest.raises(Unauthorized) as unknown:
        Client(server.url, "wrong").open()
    assert (unknown.value.status, unknown.value.code) == (401, "unauthorized")
    with pytest.raises(Refused):
        client.open(model="no\nmodel")
    away = Client("http://127.0.0.1:9", server.token, retry_s=0.3)
    began = time.monotonic()
    with pytest.raises(ConnectionFailed):
        away.open()
    assert time.monotonic() - began < 10


def test_a_stream_outlives_its_server(server: Server, client: Client) -> None:
    session = client.open()
    session.run("Hello")
    stream = session.events(live=False)
    first = [next(stream).seq for _ in range(3)]
    server.kill()
    restart = threading.Timer(0.3, server.start)
    restart.start()
    rest = []
    for event in stream:
        rest.append(event)
        if event.kind == "TurnSettled":
            break
    restart.join()
    seqs = first + [event.seq for event in rest if event.seq is not None]
    assert seqs == list(range(1, len(seqs) + 1))
