//! JSON output: one envelope in each line, for durable facts and live deltas.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::{Value, json};
use windlass_engine::core::{FACT_VERSION, RecordedFact, Seq, SessionId, Timestamp, TurnId};
use windlass_engine::ports::codec;
use windlass_engine::{Event, TurnReport};

use super::Presenter;
use crate::exit::{ExitKind, Failure};

/// Envelope that is in no log, with its fields in the common order.
#[derive(Serialize)]
struct JsonEnvelope<'a> {
    v: u32,
    session: Option<&'a SessionId>,
    seq: Option<Seq>,
    turn: Option<TurnId>,
    ts: Timestamp,
    kind: &'static str,
    body: Value,
}

/// Prints envelopes, one in each line.
#[derive(Debug, Default)]
pub(crate) struct JsonPresenter {
    /// Session and time of the last event.
    last: Option<(SessionId, Timestamp)>,
    /// Last fact.
    after: Option<Seq>,
}

impl JsonPresenter {
    /// Prints a lag.
    fn lagged(&self, missed: u64) -> io::Result<()> {
        self.notice("Lagged", json!({"missed": missed, "after": self.after.map_or(0, |seq| seq.0)}))
    }

    /// Prints an event that is in no log, at the time of the last event.
    fn notice(&self, kind: &'static str, body: Value) -> io::Result<()> {
        let line = JsonEnvelope {
            v: FACT_VERSION,
            session: self.last.as_ref().map(|(session, _)| session),
            seq: None,
            turn: None,
            ts: self.last.as_ref().map_or(Timestamp(0), |(_, ts)| *ts),
            kind,
            body,
        };
        super::print_json(&serde_json::to_string(&line)?)
    }
}

impl Presenter for JsonPresenter {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Fact(fact) => {
                self.last = Some((fact.session.clone(), fact.ts));
                self.after = Some(fact.seq);
                let text = codec::encode(fact).map_err(io::Error::other)?;
                super::print_json(str::from_utf8(&text).map_err(io::Error::other)?)?;
            }
            Event::Live(all) => {
                if let Some(live) = all.last() {
                    self.last = Some((live.session.clone(), live.ts));
                }
                for live in all.iter() {
                    super::print_json(&serde_json::to_string(live)?)?;
                }
            }
            Event::Lagged { missed } => self.lagged(*missed)?,
            Event::Store(status) => match status.failure() {
                None => self.notice("StoreWorks", json!({}))?,
                Some(reason) => self.notice("StoreFailed", json!({"reason": reason}))?,
            },
            Event::Ended(_) => {}
        }
        io::stdout().flush()
    }

    /// Does nothing: facts hold the original text.
    fn expect_schema(&mut self) {}

    /// Its terminal fact is a line like any other.
    fn continued(&mut self, _report: &TurnReport) -> io::Result<()> {
        Ok(())
    }

    /// The terminal fact has been printed as an event: it is the last line.
    fn settled(&mut self, _report: &TurnReport) -> io::Result<()> {
        Ok(())
    }

    /// The terminal fact stays the last line.
    fn after(&mut self, _fact: &RecordedFact) -> io::Result<()> {
        Ok(())
    }

    /// Prints a last line in the form of a terminal fact. Its `seq` is null, since it is in no log.
    /// The turn itself, if there is one, is unfinished and can be resumed.
    fn failed(
        &mut self,
        failure: &Failure,
        session: Option<&SessionId>,
        at: Timestamp,
    ) -> io::Result<()> {
        let class = match failure.exit {
            ExitKind::Store => "store",
            ExitKind::Provider => "authentication",
            ExitKind::Usage => "invalid_request",
            ExitKind::Completed
            | ExitKind::Failed
            | ExitKind::Blocked
            | ExitKind::Exhausted
            | ExitKind::Interrupted
            | ExitKind::Terminated
            | ExitKind::Command(_) => "process",
        };
        let stopped =
            |by: &str| json!({"outcome": "interrupted", "by": by, "reason": failure.message});
        let body = match failure.exit {
            ExitKind::Interrupted => stopped("person"),
            ExitKind::Terminated => stopped("shutdown"),
            ExitKind::Completed
            | ExitKind::Failed
            | ExitKind::Usage
            | ExitKind::Blocked
            | ExitKind::Provider
            | ExitKind::Store
            | ExitKind::Exhausted
            | ExitKind::Command(_) => {
                json!({"outcome": "failed", "failure": class, "message": failure.message})
            }
        };
        let line = JsonEnvelope {
            v: FACT_VERSION,
            session,
            seq: None,
            turn: None,
            ts: at,
            kind: "TurnSettled",
            body,
        };
        super::print_json(&serde_json::to_string(&line)?)
    }
}
