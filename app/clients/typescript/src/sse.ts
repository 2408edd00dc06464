// Server-sent events: bytes to events.

/** One event of a session. */
export interface SessionEvent {
  /** `fact`, `live`, `store`, `lagged`, `end` or, after a lost connection, `reconnected`. */
  name: string;
  /** Position of a fact; undefined for all others. */
  seq: number | undefined;
  /** The envelope; for a fact a `Fact`. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  data: any;
}

/** Yields the events of a stream. An event that is cut off is dropped. */
export async function* parse(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SessionEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  let name = "message";
  let seq: number | undefined;
  let data: string[] = [];
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (data.length > 0) {
          yield { name, seq, data: JSON.parse(data.join("\n")) };
        }
        [name, seq, data] = ["message", undefined, []];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") name = value;
      else if (field === "id") seq = Number(value);
      else if (field === "data") data.push(value);
    }
  }
}
