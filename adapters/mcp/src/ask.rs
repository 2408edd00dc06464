//! Requests that change nothing, such as lists of resources: sent once the server is there, with an end.

use std::time::Duration;

use windlass_core::{Observation, ObservationStatus};
use windlass_ports::CancelSignal;

use crate::call::{CallEnd, asked};
use crate::name::ServerName;
use crate::server::{Link, Server};

/// Failure of a request that changes nothing.
pub(crate) struct AskFailure {
    status: ObservationStatus,
    /// Description of the failure, with the server's name.
    pub(crate) words: String,
}

impl AskFailure {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { status: ObservationStatus::Failed, words: words.into() }
    }

    fn of(end: CallEnd, name: &ServerName, within: Duration) -> Self {
        Self::new(match end {
            CallEnd::Refused(words) => format!("the MCP server {name} answered: {words}"),
            CallEnd::InputRequired(required) => format!(
                "the MCP server {name} asks the user for input first, which cannot be given here. It \
                 asks: {}",
                asked(&required)
            ),
            CallEnd::Cancelled => {
                let words = "[stopped because it was asked to; it changes nothing]".into();
                return Self { status: ObservationStatus::Aborted, words };
            }
            CallEnd::TimedOut => {
                format!("the MCP server {name} did not answer within {} ms", within.as_millis())
            }
            CallEnd::Lost { words, .. } => format!("no answer of the MCP server {name}: {words}"),
            CallEnd::Result(_) | CallEnd::Task(_) | CallEnd::Asks(_) => {
                format!("the MCP server {name} answered something else")
            }
        })
    }

    pub(crate) fn observation(self) -> Observation {
        Observation::new(self.status, self.words)
    }
}

/// Sends a request to a server, and waits for its answer.
pub(crate) async fn ask<T, F>(
    server: &Server,
    (within, cancel): (Duration, &CancelSignal),
    request: impl FnOnce(Link) -> F,
) -> Result<T, AskFailure>
where
    F: Future<Output = Result<T, CallEnd>>,
{
    let answer = async {
        let linked = server.link().await;
        let not_sent = |words| CallEnd::Lost { words, sent: false, broken: false };
        let (link, _) = linked.map_err(not_sent)?;
        let answer = request(link.clone()).await;
        if let Err(CallEnd::Lost { broken: true, .. }) = &answer {
            server.report_broken(&link);
        }
        answer
    };
    let answer = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(CallEnd::Cancelled),
        answer = answer => answer,
        () = tokio::time::sleep(within) => Err(CallEnd::TimedOut),
    };
    answer.map_err(|end| AskFailure::of(end, &server.name, within))
}
