//! A model that streams at a fixed pace: stamps with the time of sending, or Markdown.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};

use xtask::say::say;

/// First word of a Markdown answer, which it has once.
pub(crate) const FIRST_WORD: &str = "Foreword";

/// Last word of a Markdown answer, which it has once.
pub(crate) const LAST_WORD: &str = "Afterword";

/// Markdown that answers repeat, a word a delta.
const MARKDOWN: &str = "
## The order of appends

A turn is a *fold* of its log, and **only** the log moves the state. The next fact is appended once
the one before it is durable, so a process that is killed between two of them finds on its return
what it has done, and nothing that it has not.

- `append` returns once the batch is durable, with the position of its last fact
- a subscriber reads facts in this order, from whatever position it has seen
  - deltas are not facts: they are published and not kept

```rust
/// Returns the position after the last durable fact.
fn end(log: &Log, batch: &[Fact]) -> Result<Position, LogError> {
    let end = log.append(batch)?; // durable from here on
    Ok(end.next())
}
```

| store | sync | facts a second |
|---|---|---|
| file | one a batch | many |
| memory | none | more |

";

/// Pace named by a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Number of deltas.
    pub(crate) deltas: u32,
    pub(crate) a_second: u32,
    pub(crate) text: Text,
}

/// Text of the deltas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// Time of sending, and so many bytes more.
    Stamps { bytes: usize },
    /// Word of an answer with paragraphs, lists, code and tables.
    Markdown,
}

impl Pace {
    /// The name of a model of this pace.
    pub(crate) fn name(self) -> String {
        let Self { deltas, a_second, text } = self;
        match text {
            Text::Stamps { bytes } => format!("pace-{deltas}-{a_second}-{bytes}"),
            Text::Markdown => format!("pace-{deltas}-{a_second}-markdown"),
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("pace-")?.split('-');
        Some(Self {
            deltas: parts.next()?.parse().ok()?,
            a_second: parts.next()?.parse().ok()?,
            text: match parts.next()? {
                "markdown" => Text::Markdown,
                bytes => Text::Stamps { bytes: bytes.parse().ok()? },
            },
        })
    }

    /// Returns the text of each delta, as it is when it is asked for.
    fn texts(self) -> Box<dyn Iterator<Item = String> + Send> {
        let count = self.deltas as usize;
        match self.text {
            Text::Stamps { bytes } => {
                let filling = "x".repeat(bytes);
                Box::new((0..count).map(move |_| format!("@{}@{filling}", now_ns())))
            }
            Text::Markdown => {
                let words = MARKDOWN.split_inclusive([' ', '\n']).cycle();
                let words = words.take(count.saturating_sub(2)).map(str::to_owned);
                let ends = [format!("{FIRST_WORD}.\n"), format!("\n\n{LAST_WORD}.")];
                let [first, last] = ends.map(std::iter::once);
                Box::new(first.chain(words).chain(last))
            }
        }
    }
}

/// Nanoseconds since the epoch, the same clock in every process.
pub(super) fn now_ns() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_nanos()
}

/// Serves until standard input ends. The address is the first line of standard output.
///
/// # Errors
/// When no loopback port can be had.
pub(crate) fn run() -> anyhow::Result<()> {
    super::ends_with_input();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        say(listener.local_addr()?);
        loop {
            let (socket, _) = listener.accept().await?;
            // A server that goes away in the middle is its own loss.
            tokio::spawn(async move { answer(socket).await.ok() });
        }
    })
}

async fn answer(mut socket: TcpStream) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let pace = asked(&mut socket).await?;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await?;
    let every = Duration::from_secs(1) / pace.a_second.max(1);
    let (mut at, mut texts) = (Instant::now(), pace.texts());
    loop {
        sleep_until(at).await;
        at += every;
        let Some(text) = texts.next() else {
            break;
        };
        socket.write_all(chunk(&text, "null").as_bytes()).await?;
    }
    let end = chunk("", "\"stop\"") + "data: [DONE]\n\n";
    socket.write_all(end.as_bytes()).await?;
    socket.shutdown().await?;
    Ok(())
}

fn chunk(text: &str, reason: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\
         \"finish_reason\":{reason}}}]}}\n\n"
    )
}

/// Reads a request and the pace that its model names.
async fn asked(socket: &mut TcpStream) -> anyhow::Result<Pace> {
    let mut read = Vec::new();
    loop {
        anyhow::ensure!(socket.read_buf(&mut read).await? > 0, "no request");
        let text = String::from_utf8_lossy(&read);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next());
        let length: usize = length.context("a request without a length")?.parse()?;
        if body.len() >= length {
            let name = body.split("\"model\":\"").nth(1);
            let name = name.and_then(|rest| rest.split('"').next());
            return name.and_then(Pace::parse).context("no pace is named");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_a_pace() {
        for text in [Text::Stamps { bytes: 0 }, Text::Markdown] {
            let pace = Pace { deltas: 500, a_second: 50, text };
            assert_eq!(Pace::parse(&pace.name()), Some(pace));
        }
        assert_eq!(Pace::parse("pace-1-2"), None);
    }

    #[test]
    fn a_markdown_answer_has_its_first_and_last_word_once() {
        let texts: Vec<_> =
            Pace { deltas: 500, a_second: 1, text: Text::Markdown }.texts().collect();
        assert_eq!(texts.len(), 500);
        let all = texts.concat();
        assert!(all.starts_with(FIRST_WORD) && all.contains("```rust\n"), "{all}");
        for word in [FIRST_WORD, LAST_WORD] {
            assert_eq!(all.matches(word).count(), 1, "{all}");
        }
    }

    #[test]
    fn a_chunk_is_json() {
        let text = chunk("@1@\n\"", "null");
        let json = text.strip_prefix("data: ").unwrap();
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json["choices"][0]["delta"]["content"], "@1@\n\"");
    }
}
