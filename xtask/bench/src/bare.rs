//! The bare loop: an agent turn with good libraries and without an engine.
//!
//! reqwest, eventsource-stream and serde; the whole history is serialised for every request. It
//! knows no limits, no retries, no interruption and no recovery. With a file it appends and syncs
//! each message, which is the plainest way to lose nothing.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use eventsource_stream::Eventsource as _;
use futures_util::StreamExt as _;
use serde_json::value::RawValue;

use crate::contest::Tally;
use crate::engine::OnText;
use crate::meter::process_ns;
use crate::wire::{
    Call, Chunk, EchoArguments, Function, INSTRUCTIONS, Message, PROMPT, Request, StreamOptions,
    tools,
};

/// Client with the state that its turns share.
#[derive(Debug)]
pub(crate) struct Bare {
    client: reqwest::Client,
    url: String,
    tools: Box<RawValue>,
    /// Syncs on another thread, so that the other turns of this one do not wait.
    offloads: bool,
}

/// Result of one turn.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) tally: Tally,
    /// Processor time of the process before each request to the model.
    pub(crate) marks: Vec<u64>,
}

/// Result of one answer of the model.
struct Answered {
    text: String,
    calls: Vec<Call>,
}

impl Bare {
    /// A client of the server at this base address.
    ///
    /// # Errors
    /// When the HTTP client cannot be made.
    pub(crate) fn new(base: &str) -> anyhow::Result<Self> {
        // The workspace builds reqwest without a default; that one may be set already is fine.
        let _set_before = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .tcp_nodelay(true)
            .no_proxy()
            .build()
            .context("building the bare loop's HTTP client")?;
        Ok(Self {
            client,
            url: format!("{base}/chat/completions"),
            tools: tools()?,
            offloads: false,
        })
    }

    /// The same for turns that run concurrently.
    pub(crate) fn concurrent(self) -> Self {
        Self { offloads: true, ..self }
    }

    /// Runs one turn with a history of its own; with `file`, every message is synced to it.
    ///
    /// # Errors
    /// At the first thing that goes wrong.
    pub(crate) async fn turn(
        &self,
        model: &str,
        file: Option<&Path>,
        on_text: OnText<'_>,
    ) -> anyhow::Result<Ran> {
        let mut history = History::new(file, self.offloads)?;
        history.push(Message::User { content: PROMPT.to_owned() }).await?;
        let mut ran = Ran::default();
        let Ran { tally, marks } = &mut ran;
        loop {
            marks.push(process_ns()?);
            let answered = self.sample(model, &history.messages, tally, on_text).await?;
            tally.samples += 1;
            let content = Some(answered.text).filter(|text| !text.is_empty());
            let calls = answered.calls;
            let tool_calls = calls.clone();
            history.push(Message::Assistant { content, tool_calls }).await?;
            if calls.is_empty() {
                return Ok(ran);
            }
            for call in calls {
                let arguments: EchoArguments = serde_json::from_str(&call.function.arguments)?;
                tally.calls += 1;
                let content = arguments.result();
                history.push(Message::Tool { tool_call_id: call.id, content }).await?;
            }
        }
    }

    async fn sample(
        &self,
        model: &str,
        messages: &[Message],
        tally: &mut Tally,
        on_text: OnText<'_>,
    ) -> anyhow::Result<Answered> {
        let body = serde_json::to_vec(&Request {
            model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            messages,
            tools: &self.tools,
        })?;
        let request = self.client.post(&self.url).bearer_auth("none");
        let request = request.header("content-type", "application/json").body(body);
        let response = request.send().await?.error_for_status()?;
        let mut events = response.bytes_stream().eventsource();
        let mut answered = Answered { text: String::new(), calls: Vec::new() };
        while let Some(event) = events.next().await {
            let event = event?;
            if event.data == "[DONE]" {
                continue;
            }
            let chunk: Chunk = serde_json::from_str(&event.data)?;
            for choice in chunk.choices {
                if let Some(text) = choice.delta.content.filter(|text| !text.is_empty()) {
                    tally.deltas += 1;
                    on_text(&text);
                    answered.text.push_str(&text);
                }
                for call in choice.delta.tool_calls {
                    answered.take(call)?;
                }
            }
        }
        Ok(answered)
    }
}

impl Answered {
    fn take(&mut self, delta: crate::wire::CallDelta) -> anyhow::Result<()> {
        if let Some(call) = self.calls.get_mut(delta.index) {
            call.function.arguments.push_str(&delta.function.arguments);
            return Ok(());
        }
        self.calls.push(Call {
            id: delta.id.context("a call without an id")?,
            r#type: "function",
            function: Function {
                name: delta.function.name.context("a call without a name")?,
                arguments: delta.function.arguments,
            },
        });
        Ok(())
    }
}

/// Messages in memory and, with a file, on disk before the next step.
struct History {
    messages: Vec<Message>,
    file: Option<File>,
    offloads: bool,
}

impl History {
    fn new(file: Option<&Path>, offloads: bool) -> anyhow::Result<Self> {
        let open = |path: &Path| {
            File::options()
                .create_new(true)
                .append(true)
                .open(path)
                .with_context(|| format!("creating {}", path.display()))
        };
        Ok(Self {
            messages: vec![Message::System { content: INSTRUCTIONS.to_owned() }],
            file: file.map(open).transpose()?,
            offloads,
        })
    }

    async fn push(&mut self, message: Message) -> anyhow::Result<()> {
        if let Some(mut file) = self.file.take() {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let write = move || -> anyhow::Result<File> {
                file.write_all(&line).context("appending a message")?;
                file.sync_data().context("syncing a message")?;
                Ok(file)
            };
            self.file = Some(match self.offloads {
                true => tokio::task::spawn_blocking(write).await??,
                false => write()?,
            });
        }
        self.messages.push(message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{listen, serve};

    async fn bare() -> Bare {
        let listener = listen().await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener));
        Bare::new(&format!("http://{address}/v1")).unwrap()
    }

    #[tokio::test]
    async fn goes_through_a_script_and_keeps_every_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let mut said = String::new();
        let turn = bare().await;
        let ran = turn.turn("tools-3", Some(&file), &mut |text| said.push_str(text)).await.unwrap();
        let tally = ran.tally;
        assert!(ran.marks.len() == 4 && ran.marks.is_sorted(), "{ran:?}");
        assert_eq!((tally.samples, tally.calls, tally.deltas), (4, 3, 2));
        assert_eq!(said, " Every turn");
        // The prompt, three times a call and its result, the answer.
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 8);
    }

    #[tokio::test]
    async fn sees_every_delta_of_a_long_text() {
        let ran = bare().await.turn("text-5000", None, &mut |_| {}).await.unwrap();
        let tally = ran.tally;
        assert_eq!((tally.samples, tally.calls, tally.deltas), (1, 0, 5000));
    }

    #[tokio::test]
    async fn a_result_is_as_long_as_the_script_says() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let turn = bare().await;
        let ran = turn.turn("tools-1@o300", Some(&file), &mut |_| {}).await;
        assert_eq!(ran.unwrap().tally.calls, 1);
        let log = std::fs::read_to_string(&file).unwrap();
        let result: serde_json::Value = serde_json::from_str(log.lines().nth(2).unwrap()).unwrap();
        assert_eq!(result["content"].as_str().unwrap().len(), 300);
    }

    #[tokio::test]
    async fn a_refused_request_is_an_error() {
        let error = bare().await.turn("gpt", None, &mut |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("400"), "{error}");
    }
}
