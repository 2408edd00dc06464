//! View of a call: its tool, its arguments, and its stage.

use alloc::sync::Arc;

use super::entry::{CallEntry, CallSource};
use crate::arguments_digest::ArgumentsDigest;
use crate::call::{ObservationStatus, Suspension, UserQuestion, Verdict};
use crate::hook::Edit;
use crate::id::{CallId, Seq};
use crate::item::CallItem;
use crate::time::Timestamp;

/// A call of the latest answer.
#[derive(Debug, Clone)]
pub struct CallView {
    /// Id of the call: the position of the fact that proposed it.
    pub id: CallId,
    /// Origin of the call.
    pub source: CallSource,
    /// Tool and arguments, as the model or the program wrote them.
    pub item: Arc<CallItem>,
    /// Progress of the call.
    pub stage: CallStage,
    edited: Option<Arc<str>>,
    suspension: Option<Arc<Suspension>>,
    outside: bool,
}

/// Progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStage {
    /// Proposed, and not decided yet.
    Proposed,
    /// Decided by the policy, a rule, a hook or a person.
    Decided(Verdict),
    /// Waiting for a person's answer.
    Asked(OpenQuestion),
    /// Running, or being reconciled, since the fact at this position.
    Running(Seq),
    /// Run by a client, whose result is awaited, or suspended until a person answers, since the fact
    /// at this position.
    AwaitingResult(Seq),
    /// Observed, with this status.
    Ended(ObservationStatus),
    /// Discarded with the answer that proposed it.
    Superseded,
}

/// Question to a person that is not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Position of its `ApprovalAsked`.
    pub asked: Seq,
    /// Digest of its arguments.
    pub digest: ArgumentsDigest,
    /// Time after which a missing answer counts as a denial.
    pub deadline: Option<Timestamp>,
}

impl CallView {
    pub(super) fn new(id: CallId, source: CallSource, item: &Arc<CallItem>) -> Self {
        Self {
            id,
            source,
            item: item.clone(),
            stage: CallStage::Proposed,
            edited: None,
            suspension: None,
            outside: item.outside_sandbox,
        }
    }

    pub(super) fn apply(&mut self, at: Seq, entry: CallEntry<'_>) {
        self.stage = match entry {
            CallEntry::Proposed(..) => CallStage::Proposed,
            CallEntry::Decided(fact) => CallStage::Decided(fact.verdict),
            CallEntry::Asked(fact) => CallStage::Asked(OpenQuestion {
                asked: at,
                digest: fact.arguments,
                deadline: fact.deadline,
            }),
            CallEntry::Answered(fact) => {
                self.edit(fact.edit.as_ref());
                CallStage::Decided(fact.verdict)
            }
            CallEntry::Started(fact) if fact.client => CallStage::AwaitingResult(at),
            CallEntry::Suspended(fact) => {
                self.suspension = Some(fact.suspension.clone());
                match fact.suspension.question {
                    Some(_) => CallStage::AwaitingResult(at),
                    None => CallStage::Decided(Verdict::Allow),
                }
            }
            CallEntry::Resumed(_) => CallStage::Decided(Verdict::Allow),
            CallEntry::Started(_) | CallEntry::Reconciling => CallStage::Running(at),
            CallEntry::Observed(fact) => CallStage::Ended(fact.observation.status),
        };
    }

    pub(super) fn edit(&mut self, edit: Option<&Edit>) {
        if let Some(edit) = edit {
            self.edited = Some(edit.text.clone());
            self.outside = edit.outside_sandbox;
        }
    }

    /// Returns the arguments that the call runs with.
    #[must_use]
    pub fn arguments(&self) -> &str {
        self.edited.as_deref().unwrap_or(&self.item.arguments)
    }

    /// Returns true if the call asks to run outside of the sandbox.
    #[must_use]
    pub fn is_outside_sandbox(&self) -> bool {
        self.outside
    }

    /// Returns the edited arguments, if they replaced the proposed ones.
    #[must_use]
    pub fn edited(&self) -> Option<&Arc<str>> {
        let edited = self.edited.as_ref();
        edited.filter(|edited| ***edited != *self.item.arguments)
    }

    /// Returns the question of the suspended call that a person has not answered yet.
    #[must_use]
    pub fn user_question(&self) -> Option<&UserQuestion> {
        let suspension = self.suspension.as_ref().filter(|_| self.is_awaiting_result());
        suspension?.question.as_ref()
    }

    /// Returns true if a run of the call was suspended: a later one goes on with it.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspension.is_some()
    }

    /// Returns true if a client runs the call and its result is awaited, or a person's answer is.
    #[must_use]
    pub fn is_awaiting_result(&self) -> bool {
        matches!(self.stage, CallStage::AwaitingResult(_))
    }

    /// Returns the open question.
    #[must_use]
    pub fn question(&self) -> Option<OpenQuestion> {
        if let CallStage::Asked(question) = self.stage {
            return Some(question);
        }
        None
    }
}
