//! Export format: the first line of an export, and the check of a log fact by fact.
//!
//! An export begins with `{"export":1,"session":ID,"facts":COUNT,"chain":LINK}`. The field
//! `"outputs"` is present if lines of outputs follow the facts. The field `"sessions"` is present
//! in an export of several sessions: such a line with its facts follows for each of them, and then
//! the outputs of all, in the same order. Exports of earlier versions begin with their first fact.

use serde::{Deserialize, Serialize};
use windlass_engine::core::{Checkpoint, InvalidFact, RecordedFact, Seq, SessionId};
use windlass_engine::ports::ChainLink;

use crate::exit::{ExitKind, Failure};

/// Prefix of the first line of an export.
pub(super) const BEGINS: &[u8] = b"{\"export\":";
/// Version of the format.
const VERSION: u32 = 1;

/// Header of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportHeader {
    export: u32,
    pub(super) session: SessionId,
    /// Number of facts that follow.
    pub(super) facts: u64,
    /// Last chain link of the facts.
    chain: String,
    /// Number of outputs and images that follow the facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outputs: Option<u64>,
    /// Number of exported sessions, if there are several; only in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sessions: Option<u64>,
}

impl ExportHeader {
    pub(super) fn of(whole: &LogCheck, outputs: Option<u64>) -> Self {
        Self {
            export: VERSION,
            session: whole.checkpoint.session.id.clone(),
            facts: whole.last().0,
            chain: whole.chain.to_string(),
            outputs,
            sessions: None,
        }
    }

    /// Reads the first line of an export. `Err` describes the fault.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let head: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        match head.export {
            VERSION => Ok(head),
            newer => Err(format!(
                "it is an export of version {newer}, and this engine reads version {VERSION}: use a \
                 newer one"
            )),
        }
    }

    pub(super) fn text(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| {
            Failure::new(ExitKind::Failed, format!("cannot write the export's header: {error}"))
        })
    }

    /// Returns the difference between the header and the log, if there is one.
    pub(super) fn differs(&self, whole: &LogCheck) -> Option<String> {
        let (id, last) = (&whole.checkpoint.session.id, whole.last());
        if (&self.session, self.facts, &*self.chain) == (id, last.0, &*whole.chain.to_string()) {
            return None;
        }
        Some(format!(
            "its first line says {} facts of session {} with the chain {}, and there are {last} of {id} \
             with {}",
            self.facts, self.session, self.chain, whole.chain
        ))
    }
}

/// Log so far: the fold of its facts, and the chain of their text forms.
#[derive(Debug)]
pub(super) struct LogCheck {
    pub(super) checkpoint: Checkpoint,
    pub(super) chain: ChainLink,
}

impl LogCheck {
    /// Starts with the first fact.
    ///
    /// # Errors
    /// When the fact opens no session.
    pub(super) fn open(first: &RecordedFact, text: &[u8]) -> Result<Self, InvalidFact> {
        Ok(Self {
            checkpoint: Checkpoint::open(first)?,
            chain: ChainLink::genesis(&first.session).next(text),
        })
    }

    /// Adds the next fact, with its text form.
    ///
    /// # Errors
    /// When the fact is invalid here.
    pub(super) fn push(&mut self, fact: &RecordedFact, text: &[u8]) -> Result<(), InvalidFact> {
        self.chain = self.chain.next(text);
        self.checkpoint.apply(fact)
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.checkpoint.session.id
    }

    pub(super) fn last(&self) -> Seq {
        self.checkpoint.last()
    }
}
