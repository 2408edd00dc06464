"""A real server for each test: `windlass serve` with its demo model, a script that calls the tools that
its prompt names. The variable WINDLASS_TEST_BINARY names the program."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Iterator

import pytest

from windlass_client import Client

BINARY = os.environ.get("WINDLASS_TEST_BINARY", "windlass")


class Server:
    """A server that can be killed, and started again at the same address with the same token."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        words = ["serve", "--provider", "demo", "--listen", self.listen]
        words += ["--permissions", "auto", "--sandbox", "off"]
        words += ["--token-file", str(self.folder / "token")]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "WINDLASS_HOME": str(self.folder / "state"),
        }
        self.process = subprocess.Popen(
            [BINARY, *words], cwd=self.workspace, env=environment, stderr=subprocess.PIPE
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline().decode().strip()
        assert line.startswith("http://"), line
        self.url = line.partition("/#")[0].rstrip("/")
        self.listen = self.url.removeprefix("http://")
        self.token = (self.folder / "token").read_text().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def client(self) -> Client:
        return Client(self.url, self.token)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.kill()


@pytest.fixture
def client(server: Server) -> Client:
    return server.client()
