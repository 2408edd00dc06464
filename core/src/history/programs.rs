//! Programs in a history: what they have called, and what they leave.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{History, Outstanding, misfit};
use crate::call::Observation;
use crate::error::Misfit;
use crate::fact::ProgramRun;
use crate::id::{CallId, Seq};
use crate::item::CallItem;
use crate::program::{Fate, ToldCall, ToldCalls, call_line};
use crate::record::Recorded;
use crate::render::PromptItem;

/// A call that a program has made, as a replay of it needs it; or a program, with what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCall {
    /// Id of the call.
    pub id: CallId,
    /// Request of the program.
    pub call: Arc<CallItem>,
    /// The arguments that somebody put in the place of the program's.
    pub edited: Option<Arc<str>>,
    /// True if a run of it has begun that does more than to say what it would do.
    pub began: bool,
    /// Result of the call, once it is known.
    pub observation: Option<Arc<Observation>>,
}

impl Outstanding {
    fn made(&self) -> MadeCall {
        MadeCall {
            id: self.id,
            call: self.call.clone(),
            edited: self.edited.clone(),
            began: self.began,
            observation: self.observation.clone(),
        }
    }
}

impl History {
    /// Returns the memory that programs left for later ones, in their runtime's format.
    #[must_use]
    pub fn memory(&self) -> Option<&Arc<str>> {
        self.memory.as_ref()
    }

    /// Returns the value that the latest answer's program returned, as JSON text.
    #[must_use]
    pub fn returned(&self) -> Option<&Arc<str>> {
        self.returned.as_ref()
    }

    /// The calls that a program has made, in their order, without the first `skipped` of them, while
    /// its sample has not entered the conversation.
    #[must_use]
    pub fn made(&self, program: CallId, skipped: usize) -> Vec<MadeCall> {
        let calls = self.calls.iter();
        let made = calls.filter(|call| call.program == Some(program));
        made.skip(skipped).map(Outstanding::made).collect()
    }

    /// The program that stood in the text of the latest answer, once that has entered the
    /// conversation: there it is no call.
    #[must_use]
    pub fn spoken(&self, program: CallId) -> Option<MadeCall> {
        let call = self.spoken.iter().find(|call| call.id == program)?;
        Some(call.made())
    }

    pub(super) fn called(&mut self, seq: Seq, program: CallId, call: &Arc<CallItem>) {
        self.calls.push(Outstanding {
            id: CallId(seq.0),
            call: call.clone(),
            edited: None,
            observation: None,
            began: false,
            tells: None,
            program: Some(program),
        });
    }

    /// Returns the report on the calls of a program that reported nothing itself.
    pub(super) fn told(&self) -> Option<PromptItem> {
        let tells = self.calls.iter().find_map(|call| call.tells.as_ref())?;
        let named = tells.calls.iter().filter_map(|id| {
            let call = self.calls.iter().find(|call| call.id == *id)?;
            let arguments = call.edited.as_deref();
            let arguments = arguments.unwrap_or(&call.call.arguments);
            let status = call.observation.as_ref().map(|seen| seen.status);
            Some(ToldCall {
                call: call_line(&call.call.name, arguments).into(),
                fate: Fate::of(call.began, status),
            })
        });
        let calls = Arc::new(ToldCalls {
            calls: named.collect(),
            more: tells.more,
        });
        Some(PromptItem::Told { calls })
    }

    pub(super) fn ran(&mut self, recorded: &Recorded, fact: &ProgramRun) -> Result<(), Misfit> {
        let known = |call: &Outstanding| call.id == fact.program && call.program.is_none();
        if !self.calls.iter().any(known) {
            return Err(misfit(recorded, "no such program is out"));
        }
        if let Some(memory) = &fact.outcome.memory {
            self.memory = Some(memory.clone());
        }
        if fact.fault.is_none() {
            self.returned = fact.outcome.end.returned().cloned();
        }
        Ok(())
    }
}
