// A real server for a test: `windlass serve` with its demo model, a script that calls the tools that its
// prompt names. The variable WINDLASS_TEST_BINARY names the program.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, createServer, type Server as Listener, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

import { Client } from "@windlass/client";

/** A server that can be killed, and started again at the same address with the same token. */
export class Server {
  url = "";
  token = "";
  private listen = "127.0.0.1:0";
  private process: ChildProcess | undefined;

  private constructor(readonly folder: string) {}

  static async of(test: TestContext): Promise<Server> {
    const server = new Server(await mkdtemp(join(tmpdir(), "windlass-")));
    await mkdir(server.workspace);
    test.after(async () => {
      await server.kill();
      await rm(server.folder, { recursive: true });
    });
    await server.start();
    return server;
  }

  get workspace(): string {
    return join(this.folder, "workspace");
  }

  get client(): Client {
    return new Client(this.url, this.token);
  }

  async start(): Promise<void> {
    const words = ["serve", "--provider", "demo", "--listen", this.listen, "--permissions", "auto"];
    words.push("--sandbox", "off", "--token-file", join(this.folder, "token"));
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: this.folder,
      WINDLASS_HOME: join(this.folder, "state"),
    };
    const binary = process.env["WINDLASS_TEST_BINARY"] ?? "windlass";
    const stdio = ["ignore", "ignore", "pipe"] as const;
    const child = spawn(binary, words, { cwd: this.workspace, env, stdio: [...stdio] });
    this.process = child;
    const [line] = (await once(createInterface({ input: child.stderr! }), "line")) as [string];
    this.url = line.split("/#")[0]!.replace(/\/$/, "");
    this.listen = this.url.replace("http://", "");
    this.token = (await readFile(join(this.folder, "token"), "utf8")).trim();
  }

  async kill(): Promise<void> {
    const child = this.process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}

/** Stands between a client and a server, and cuts the first streams of events in their midst. */
export class Cutter {
  cuts = 0;
  url = "";
  private constructor(private readonly listener: Listener) {}

  static async of(test: TestContext, server: Server, most: number): Promise<Cutter> {
    const port = Number(new URL(server.url).port);
    const cutter = new Cutter(createServer((client) => cutter.pass(client, port, most)));
    cutter.listener.listen(0, "127.0.0.1");
    await once(cutter.listener, "listening");
    test.after(() => cutter.listener.close());
    const address = cutter.listener.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    cutter.url = `http://127.0.0.1:${address.port}`;
    return cutter;
  }

  private pass(client: Socket, port: number, most: number): void {
    const server = connect(port, "127.0.0.1");
    const own = new URL(this.url).host;
    let stream = false;
    let passed = 0;
    client.on("data", (data) => {
      const text = data.toString("latin1").replace(own, `127.0.0.1:${port}`);
      stream ||= text.includes("/events");
      server.write(text, "latin1");
    });
    server.on("data", (data) => {
      passed += data.length;
      const left = stream && this.cuts < most && passed > 900;
      if (!left) {
        client.write(data);
        return;
      }
      this.cuts += 1;
      // Half of what came last, so an event is cut in two.
      client.write(data.subarray(0, data.length / 2), () => client.destroy());
      server.destroy();
    });
    for (const [one, other] of [[client, server], [server, client]] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  }
}
