"""Tools that run in the client: their calls wait durably, over deaths of clients and servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from conftest import Server

from windlass_client import Call, Client, Conflict, NotFound, Refused, Tool, ToolFailed, tool

PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
ASK = 'repeat 1: open_file {"path": "a.txt"}'


def open_file(run: Any) -> Tool:
    return Tool("open_file", "Opens a file in the editor.", PARAMETERS, "effectful", run)


def test_the_client_runs_its_tool(client: Client) -> None:
    calls = []

    @tool("read_only", PARAMETERS)
    def open_file(arguments: dict[str, Any], call: Call) -> str:
        """Opens a file in the editor."""
        calls.append((arguments, call))
        return f"line 7 of {arguments['path']} is selected"

    session = client.open(tools=[open_file])
    turn = session.run(ASK)
    assert turn["answer"] is not None and "line 7 of a.txt" in turn["answer"]
    [(arguments, call)] = calls
    assert arguments == {"path": "a.txt"}
    assert call.idempotency_key == f"{session.id}.{call.call}"
    assert (call.session, call.turn, call.tool) == (session.id, turn["turn"], "open_file")
    assert session.client_calls() == []


def test_two_calls_at_once_and_one_that_fails(client: Client) -> None:
    def run(arguments: dict[str, Any], call: Call) -> str:
        if arguments["path"] == "2":
            raise ToolFailed("no such file: 2")
        return f"opened {arguments['path']}"

    session = client.open(tools=[open_file(run)])
    turn = session.run('together 3: open_file {"path": "{step}"}')
    answer = turn["answer"]
    assert answer is not None
    assert all(words in answer for words in ("opened 1", "no such file: 2", "opened 3"))


def waiting(client: Client) -> tuple[Any, Any]:
    """A session whose only call waits for its client."""
    session = client.open(tools=[open_file(lambda *_: "never")])
    session.send(ASK)
    for event in session.events(live=False):
        if event.kind == "CallStarted":
            break
    [call] = session.client_calls()
    return session, call


def test_the_first_result_counts_and_the_same_again_is_fine(client: Client) -> None:
    session, call = waiting(client)
    session.return_result(call["call"], "opened")
    session.return_result(call["call"], "opened")
    for output, failed in [("other", False), ("opened", True)]:
        with pytest.raises(Conflict) as other:
            session.return_result(call["call"], output, failed)
        assert other.value.code == "not_awaited"
    with pytest.raises(NotFound) as unknown:
        session.return_result(1, "opened")
    assert unknown.value.code == "no_call"


def test_an_interrupt_ends_the_wait(client: Client) -> None:
    session, call = waiting(client)
    turn = session.interrupt()
    assert turn is not None
    settled = session.turn(turn, wait_s=30)
    assert settled["outcome"] is not None
    assert settled["outcome"]["outcome"] == "interrupted"
    with pytest.raises(Conflict):
        session.return_result(call["call"], "late")


def test_tools_that_cannot_be_are_refused(client: Client) -> None:
    def named(name: str, **more: Any) -> Tool:
        parts: dict[str, Any] = {"parameters": PARAMETERS, "effect": "read_only", **more}
        return Tool(name, "A tool.", run=lambda *_: "", **parts)

    for bad in [
        named("read_file"),
        named("a name with blanks"),
        named("a", parameters={"type": "string"}),
        named("a", parameters={"type": "object", "properties": {"x": {"type": "nothing"}}}),
        named("a", timeout_ms=1),
    ]:
        with pytest.raises(Refused):
            client.open(tools=[bad])


def test_a_later_input_declares_other_tools(client: Client) -> None:
    session = client.open()
    refused = session.run(ASK)["answer"]
    assert refused is not None and "does not offer" in refused
    turn = session.declare([open_file(lambda *_: "opened")], ASK)["turn"]
    settled = session.resume()
    assert settled is not None and settled["turn"] == turn
    assert settled["answer"] is not None and "opened" in settled["answer"]


DIES = """
import os, sys, time
from windlass_client import Client, Tool

def run(arguments, call):
    print(call.call, call.idempotency_key, flush=True)
    time.sleep(600)

tool = Tool("open_file", "Opens.", {"type": "object"}, "effectful", run)
session = Client(sys.argv[1], sys.argv[2]).open(tools=[tool])
print(session.id, flush=True)
session.run(sys.argv[3])
"""


def test_a_client_that_dies_and_comes_back_answers_the_same_call(
    server: Server, client: Client
) -> None:
    words = [sys.executable, "-c", DIES, server.url, server.token, ASK]
    first = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert first.stdout is not None
    id = first.stdout.readline().strip()
    call, key = first.stdout.readline().split()
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()

    calls = []

    def run(_: dict[str, Any], call: Call) -> str:
        calls.append((str(call.call), call.idempotency_key))
        return "opened by the second"

    settled = client.session(id, tools=[open_file(run)]).resume()
    assert calls == [(call, key)]
    assert settled is not None and settled["answer"] is not None
    assert "opened by the second" in settled["answer"]


def test_a_call_outlives_the_server_that_waits_for_it(server: Server, client: Client) -> None:
    keys = []

    def run(_: dict[str, Any], call: Call) -> str:
        keys.append(call.idempotency_key)
        server.kill()
        server.start()
        return "opened, and the server died meanwhile"

    session = client.open(tools=[open_file(run)])
    turn = session.run(ASK)
    assert turn["answer"] is not None and "the server died meanwhile" in turn["answer"]
    assert len(set(keys)) == 1
    starts = [event for event in _log(session) if event.kind == "CallStarted"]
    assert [event.data["body"]["attempt"] for event in starts] == [1]


def _log(session: Any) -> Any:
    for event in session.events(live=False):
        yield event
        if event.kind == "TurnSettled":
            return
