"""Session: inputs, turns, approvals, and the calls of this client's tools."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterator, Literal, Sequence, Union
from urllib.parse import quote

from .errors import Conflict, Withdrawn
from .sse import Event
from .tools import Call, Tool, ToolFailed
from .types import (
    AcceptedInput,
    Approval,
    Approvals,
    ClientCall,
    ClientCalls,
    Delivery,
    StopWhen,
    Turn,
    TurnReference,
)
from .types import Session as SessionInfo

if TYPE_CHECKING:
    from .client import Client


@dataclass(frozen=True)
class Allow:
    """The call may run, with other arguments if there are some."""

    arguments: dict[str, Any] | None = None
    #: Allows the calls of the question's ``grant`` too, for as long.
    remember: Literal["session", "always"] | None = None


@dataclass(frozen=True)
class Deny:
    """The call may not run. The model is told the reason."""

    reason: str = "denied"


#: Decides about a question. None leaves it to others.
Approver = Callable[[Approval], Union[Allow, Deny, None]]


class Session:
    """A session of the server, by its id."""

    def __init__(self, client: Client, id: str, tools: Sequence[Tool] = ()) -> None:
        self.client, self.id = client, id
        self._tools = {tool.name: tool for tool in tools}
        self._path = f"/sessions/{quote(id)}"

    def run(
        self,
        text: str,
        *,
        approve: Approver | None = None,
        on_event: Callable[[Event], None] | None = None,
        key: str | None = None,
        **more: Any,
    ) -> Turn:
        """Sends an input for a turn of its own, runs the calls of this client's tools, and returns the
        turn once it is over. With the same ``key`` the same turn is awaited again."""
        sent = self.send(text, key=key, **more)
        return self._await(sent["input"], sent["turn"], approve, on_event)

    def resume(
        self,
        *,
        approve: Approver | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Turn | None:
        """Takes up the open turn, for example in a new process: runs the calls that wait for this
        client's tools, and returns the turn once it is over; None if no turn is open."""
        turn = self.info()["turn"]
        return None if turn is None else self._await(None, turn, approve, on_event)

    def send(
        self, text: str, delivery: Delivery = "turn", *, key: str | None = None, **more: Any
    ) -> AcceptedInput:
        """Sends an input; it is durable when this returns. ``more`` are further
        fields of ``types.InputRequest``."""
        body = {"text": text, "delivery": delivery, **more}
        sent: AcceptedInput = self._post("/inputs", body, key)
        return sent

    def steer(self, text: str, *, key: str | None = None, **more: Any) -> AcceptedInput:
        """Sends an input to the running turn."""
        return self.send(text, "steer", key=key, **more)

    def interrupt(
        self, reason: str = "interrupted", when: StopWhen = "now", turn: int | None = None
    ) -> int | None:
        """Asks the running turn to stop, and returns its id."""
        body: dict[str, Any] = {"reason": reason, "when": when}
        if turn is not None:
            body["turn"] = turn
        stopped: TurnReference = self._post("/interrupt", body)
        return stopped["turn"]

    def proceed(self) -> int | None:
        """Continues with the inputs that wait after an interrupt, and returns the turn."""
        opened: TurnReference = self._post("/continue", {})
        return opened["turn"]

    def declare(self, tools: Sequence[Tool], text: str, **more: Any) -> AcceptedInput:
        """Sends an input with other client tools, which replace those before."""
        self._tools = {tool.name: tool for tool in tools}
        declared = [tool.declaration() for tool in tools]
        return self.send(text, client_tools=declared, **more)

    def events(self, after: int | None = None, live: bool = True) -> Iterator[Event]:
        """Yields events after a position, and reconnects: see `Client.stream`."""
        return self.client.stream(self.id, after, live)

    def info(self) -> SessionInfo:
        """Returns the session."""
        info: SessionInfo = self.client.request("GET", self._path)
        return info

    def turn(self, turn: int, wait_s: int = 0) -> Turn:
        """Returns a turn, after waiting up to ``wait_s`` (at most 60) seconds for its end."""
        headers = {"Prefer": f"wait={wait_s}"} if wait_s else None
        told: Turn = self.client.request("GET", f"{self._path}/turns/{turn}", headers=headers)
        return told

    def approvals(self) -> list[Approval]:
        """Returns the open questions."""
        page: Approvals = self.client.request("GET", f"{self._path}/approvals")
        return page["approvals"]

    def answer(self, approval: Approval, word: Allow | Deny) -> None:
        """Answers a question. The first answer counts."""
        body: dict[str, Any] = {"digest": approval["digest"]}
        if isinstance(word, Deny):
            body |= {"decision": "deny", "reason": word.reason}
        else:
            body["decision"] = "allow"
            if word.arguments is not None:
                body["arguments"] = word.arguments
            if word.remember is not None:
                body["remember"] = word.remember
        self._post(f"/approvals/{approval['call']}", body)

    def client_calls(self) -> list[ClientCall]:
        """Returns the calls whose clients are to return results."""
        page: ClientCalls = self.client.request("GET", f"{self._path}/client-calls")
        return page["calls"]

    def return_result(self, call: int, output: str, failed: bool = False) -> None:
        """Returns the result of a call. Returning the same again is fine; another one is a
        `Conflict` with the code ``not_awaited``."""
        body = {"output": output, "failed": failed}
        self._post(f"/client-calls/{call}", body)

    def _await(
        self,
        input: int | None,
        turn: int | None,
        approve: Approver | None,
        on_event: Callable[[Event], None] | None,
    ) -> Turn:
        """Follows the log until the turn is over, and does this client's part in it."""
        start = (turn if turn is not None else input) or 1
        self._work(approve)
        for event in self.events(after=start - 1, live=on_event is not None):
            if on_event is not None:
                on_event(event)
            if event.name == "reconnected":
                self._work(approve)
            if event.name != "fact":
                continue
            fact, body = event.data, event.data["body"]
            if turn is None and _is_about(fact, input):
                if event.kind == "InputWithdrawn":
                    raise Withdrawn(input)
                turn = fact["turn"]
            if event.kind in ("ApprovalAsked", "CallStarted"):
                if event.kind == "ApprovalAsked" or body.get("client"):
                    self._work(approve)
            if event.kind == "TurnSettled" and turn is not None and fact["turn"] == turn:
                return self.turn(turn)
        raise AssertionError("a stream ends with an error")

    def _work(self, approve: Approver | None) -> None:
        """Answers the open questions, and runs the calls that wait for this client's tools."""
        if approve is not None:
            for approval in self.approvals():
                word = approve(approval)
                if word is not None:
                    self._tolerant(lambda: self.answer(approval, word), "not_asked")
        if self._tools:
            for call in self.client_calls():
                if call["tool"] in self._tools:
                    self._run(call)

    def _run(self, waiting: ClientCall) -> None:
        tool = self._tools[waiting["tool"]]
        call = Call(
            session=waiting["session"],
            turn=waiting["turn"],
            call=waiting["call"],
            tool=waiting["tool"],
            idempotency_key=waiting["idempotency_key"],
            deadline=waiting["deadline"],
        )
        failed = False
        try:
            output = tool.run(json.loads(waiting["arguments"]), call)
        except ToolFailed as failure:
            output, failed = str(failure), True
        # The turn may have been stopped, or another process has returned a result first.
        self._tolerant(lambda: self.return_result(call.call, output, failed), "not_awaited")

    @staticmethod
    def _tolerant(act: Callable[[], None], code: str) -> None:
        try:
            act()
        except Conflict as conflict:
            if conflict.code != code:
                raise

    def _post(self, path: str, body: dict[str, Any], key: str | None = None) -> Any:
        key = key or uuid.uuid4().hex
        return self.client.request("POST", f"{self._path}{path}", body, key=key)


def _is_about(fact: dict[str, Any], input: int | None) -> bool:
    """Returns true if the fact decides what becomes of this input."""
    decides = fact["kind"] in ("InputAccepted", "InputBlocked", "InputWithdrawn")
    return bool(decides and fact["body"].get("input") == input)
