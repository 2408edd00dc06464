//! Outputs: the engine's own tool by which a model reads outputs of earlier calls.
//!
//! It reads the log and the blobs of its own session. Absent on purpose: outputs of other sessions,
//! and a way to change anything.

mod page;
mod search;

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use windlass_core::{
    History, Observation, ObservationStatus, OutputFinder, OutputLocation, OutputSearch,
    READ_OUTPUT_TOOL, RecordedFact, Seq, SessionId, ToolSpec,
};
use windlass_ports::{
    BlobError, BlobErrorKind, BlobStore, CancelSignal, LogStore, Ports, StoreError, ToolCall,
    ToolContext, ToolError, ToolErrorKind, ToolExecutor,
};

/// Facts that are read at a time.
const PAGE: usize = 32;
/// Most bytes that are shown if the model sets no limit.
const USUAL_BYTES: u64 = 16 * 1024;

/// Returns true if the engine itself runs the calls of this tool: no executor has one of its name.
pub(crate) fn is_own(tool: &str, executor: &dyn ToolExecutor) -> bool {
    tool == READ_OUTPUT_TOOL && executor.tools().iter().all(|tool| tool.name != READ_OUTPUT_TOOL)
}

/// One run of the tool, with the state of the session at its start.
pub(crate) struct OutputReader {
    store: Arc<dyn LogStore>,
    blobs: Arc<dyn BlobStore>,
    session: SessionId,
    /// Location of the named output, if there may be one.
    location: Option<OutputLocation>,
    /// Description of outputs that can be named.
    readable: String,
    /// Position up to which the log is durable.
    durable: Seq,
    /// Facts after that position.
    pending: Vec<Arc<RecordedFact>>,
    /// Most bytes to show.
    page_bytes: u64,
}

/// Session of a run.
pub(crate) struct OutputSession<'a> {
    pub(crate) id: &'a SessionId,
    pub(crate) history: &'a History,
    pub(crate) durable: Seq,
    pub(crate) pending: Vec<Arc<RecordedFact>>,
    pub(crate) page_bytes: u64,
}

/// Arguments of a call. They match the schema of the tool.
#[derive(Debug, Deserialize)]
struct OutputArguments {
    call: String,
    #[serde(default)]
    offset: u64,
    pattern: Option<String>,
    limit: Option<u64>,
}

/// Requested part of an output.
struct OutputRequest {
    offset: u64,
    /// Most bytes to show.
    limit: usize,
}

/// Bytes of one output.
struct OutputSource<'a> {
    bytes: OutputBytes<'a>,
    /// Number of readable bytes.
    length: u64,
    /// Number of further bytes, which are lost.
    lost: u64,
}

enum OutputBytes<'a> {
    /// The text in the log.
    Recorded(&'a str),
    /// The blob with this name.
    Stored { reader: &'a OutputReader, sha256: &'a str },
}

impl OutputReader {
    pub(crate) fn new(ports: &Ports, session: OutputSession<'_>, arguments: &str) -> Self {
        let arguments: Option<OutputArguments> = serde_json::from_str(arguments).ok();
        let location = arguments.and_then(|said| session.history.output_location(&said.call));
        Self {
            store: ports.store.clone(),
            blobs: ports.blobs.clone(),
            session: session.id.clone(),
            location,
            readable: describe_readable(session.history),
            durable: session.durable,
            pending: session.pending,
            page_bytes: session.page_bytes,
        }
    }

    /// Finds the recorded result of the named call, with the name of the call.
    async fn find(&self) -> Result<Option<(String, Arc<Observation>)>, StoreError> {
        let Some(location) = self.location else {
            return Ok(None);
        };
        let mut finder = OutputFinder::new(location);
        let start = finder.after();
        let mut after = start;
        while after < self.durable {
            let facts = self.store.read(&self.session, after, PAGE).await?;
            let Some(last) = facts.last() else {
                break;
            };
            after = last.seq;
            for fact in facts.iter().filter(|fact| fact.seq <= self.durable) {
                match finder.apply(fact) {
                    OutputSearch::Continue => {}
                    OutputSearch::Found(observation) => return Ok(found(&finder, observation)),
                    OutputSearch::Missing => return Ok(None),
                }
            }
        }
        for fact in self.pending.iter().filter(|fact| fact.seq > start) {
            match finder.apply(fact) {
                OutputSearch::Continue => {}
                OutputSearch::Found(observation) => return Ok(found(&finder, observation)),
                OutputSearch::Missing => return Ok(None),
            }
        }
        Ok(None)
    }

    async fn show(
        &self,
        arguments: OutputArguments,
        cancel: &CancelSignal,
    ) -> Result<Observation, ToolError> {
        let unreadable = |error: StoreError| {
            ToolError::new(ToolErrorKind::Failed, format!("the log cannot be read: {error}"))
        };
        let Some((call, observation)) = self.find().await.map_err(unreadable)? else {
            let name: String = arguments.call.chars().take(80).collect();
            return Ok(failed(format!(
                "there is no call {name:?} with an output in this session. {}",
                self.readable
            )));
        };
        let source = self.source(&observation);
        let limit = arguments.limit.unwrap_or(USUAL_BYTES).min(self.page_bytes);
        let request = OutputRequest {
            offset: arguments.offset,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let shown = match &arguments.pattern {
            None => page::show(&source, &request).await,
            Some(pattern) => match search::pattern(pattern) {
                Ok(pattern) => search::show(&source, &request, &pattern, cancel).await,
                Err(why) => Ok(failed(format!("the pattern is no regular expression: {why}"))),
            },
        };
        shown.or_else(|error| match error.kind {
            BlobErrorKind::NotFound => Ok(failed(format!(
                "the output of the call {call} is not stored here any more: it was erased, or was \
                 left behind when the session was copied. Only the call itself, run again, shows it."
            ))),
            BlobErrorKind::Disabled
            | BlobErrorKind::Full
            | BlobErrorKind::Corrupt
            | BlobErrorKind::Io => {
                let words = format!("the output of the call {call} cannot be read: {error}");
                Err(ToolError::new(ToolErrorKind::Failed, words))
            }
        })
    }

    fn source<'a>(&'a self, observation: &'a Observation) -> OutputSource<'a> {
        match &observation.stored_output {
            Some(stored) => OutputSource {
                bytes: OutputBytes::Stored { reader: self, sha256: &stored.sha256 },
                length: stored.bytes,
                lost: observation.output_bytes.saturating_sub(stored.bytes),
            },
            None => OutputSource {
                bytes: OutputBytes::Recorded(&observation.output),
                length: observation.output.len() as u64,
                lost: observation.omitted_bytes,
            },
        }
    }
}

#[async_trait]
impl ToolExecutor for OutputReader {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![windlass_core::read_output_tool()]
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        match serde_json::from_str(&call.arguments) {
            Ok(arguments) => self.show(arguments, &context.cancel).await,
            Err(error) => Ok(failed(format!("the arguments cannot be read: {error}"))),
        }
    }
}

impl OutputSource<'_> {
    /// Reads up to `limit` bytes from byte `offset` on; fewer at the end.
    async fn read(&self, offset: u64, limit: usize) -> Result<Vec<u8>, BlobError> {
        match &self.bytes {
            OutputBytes::Recorded(text) => {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = text.as_bytes().get(offset..).unwrap_or_default();
                Ok(rest.get(..limit.min(rest.len())).unwrap_or_default().to_vec())
            }
            OutputBytes::Stored { reader, sha256 } => {
                reader.blobs.read(&reader.session, sha256, offset, limit).await
            }
        }
    }

    /// Returns the end of a remark about lost bytes.
    fn lost(&self) -> String {
        match self.lost {
            0 => String::new(),
            lost => format!("; {lost} further bytes of the output were not kept"),
        }
    }
}

fn found(
    finder: &OutputFinder,
    observation: Arc<Observation>,
) -> Option<(String, Arc<Observation>)> {
    Some((finder.call()?.reference(), observation))
}

fn failed(words: String) -> Observation {
    Observation::new(ObservationStatus::Failed, format!("Failed: {words}"))
}

fn describe_readable(history: &History) -> String {
    let readable = history.readable_outputs();
    let each = readable.iter().map(|one| format!("{} ({}, {} bytes)", one.id, one.tool, one.bytes));
    match each.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => String::from("No call of the conversation has one."),
        names => format!("The latest ones are: {names}."),
    }
}
