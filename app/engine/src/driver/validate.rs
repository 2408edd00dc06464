//! Validation of an input before the core decides it: schemas and sizes.

use std::sync::Arc;

use windlass_core::machine::RemoteCommandFault;
use windlass_core::{
    ApprovalAnswer, CallId, CallItem, ContextPart, Edit, Input, Lineage, Settings, unavailable_tool,
};

use super::Driver;
use crate::arguments::Checker;
use crate::effect::REASON as ANSWER;
use crate::{capacity, program};

/// Longest reason for a stop, in bytes; the rest is cut.
const REASON: usize = 1_024;

/// Longest focus of a compaction, in bytes; the rest is cut.
const FOCUS: usize = 4 * 1_024;

impl Driver {
    /// Returns the input if the core may decide it.
    pub(super) fn validate(&mut self, mut input: Input) -> Result<Input, RemoteCommandFault> {
        self.check(&mut input)?;
        Ok(input)
    }

    fn check(&mut self, input: &mut Input) -> Result<(), RemoteCommandFault> {
        match input {
            Input::Keyed { key, input } => {
                self.fits(&[key])?;
                self.check(input)?;
            }
            Input::Send { text, context, key, .. } => {
                let mut texts = vec![text.as_str(), key.as_deref().unwrap_or_default()];
                let parts = |part: &ContextPart| [part.from.clone(), part.text.to_string()];
                let parts: Vec<String> = context.iter().flat_map(parts).collect();
                texts.extend(parts.iter().map(String::as_str));
                self.fits(&texts)?;
            }
            Input::RunCommand { text, call, .. } => {
                self.fits(&[text, text])?;
                *call = self.command_call(text);
            }
            Input::Configure { settings, .. } => self.usable(settings)?,
            Input::SetGoal { goal, .. } => {
                self.fits(&[goal.as_ref().map_or("", |goal| &goal.text)])?;
            }
            Input::Interrupt { reason, .. } => capacity::cut(reason, REASON),
            Input::Compact { focus, .. } => {
                if let Some(focus) = focus {
                    capacity::cut(focus, FOCUS);
                }
            }
            Input::Answer { call, answer, .. } => self.validate_edit(*call, answer)?,
            Input::SubmitResult { observation, .. } => self.fits(&[&observation.output])?,
            Input::EditInput { text, .. } | Input::ChildEnded { text, .. } => self.fits(&[text])?,
            Input::MoveInput { .. }
            | Input::WithdrawInput { .. }
            | Input::Rename { .. }
            | Input::Rewind { .. }
            | Input::FilesRestored { .. }
            | Input::Continue
            | Input::Close
            | Input::Recover
            | Input::Narrow { .. }
            | Input::Tick
            | Input::SampleEvent { .. }
            | Input::CallEnded { .. }
            | Input::CallSuspended { .. }
            | Input::AgentEnded { .. }
            | Input::AgentDetached { .. }
            | Input::ProgramEvent { .. }
            | Input::HookReplied { .. }
            | Input::ApproverAnswered { .. }
            | Input::CallReconciled { .. }
            | Input::CompactionEnded { .. }
            | Input::NeverStarted { .. } => {}
        }
        Ok(())
    }

    /// Returns the call of a command line by the session's tools and rules; `None` if no tool takes one.
    fn command_call(&self, command: &str) -> Option<Arc<CallItem>> {
        let session = self.machine.session();
        let checker = match self.checker.is_for(&session.settings) {
            true => self.checker.clone(),
            false => {
                let checker = Checker::new(&session.settings).ok()?;
                Arc::new(checker.in_workspace(session.workspace.as_ref(), &self.ports.tools))
            }
        };
        checker.command(command).map(Arc::new)
    }

    fn fits(&self, texts: &[&str]) -> Result<(), RemoteCommandFault> {
        if self.capacity.fits(texts) {
            return Ok(());
        }
        let bytes = texts.iter().map(|text| text.len());
        Err(RemoteCommandFault::TooLarge(bytes.fold(0_usize, usize::saturating_add)))
    }

    fn usable(&self, settings: &Settings) -> Result<(), RemoteCommandFault> {
        let settings = Arc::new(settings.clone());
        Checker::new(&settings).map_err(RemoteCommandFault::Settings)?;
        let other = settings.tools != self.machine.session().settings.tools;
        let child = matches!(*self.machine.session().lineage, Lineage::Child { .. });
        if let Some(stranger) = unavailable_tool(&settings.tools).filter(|_| other && !child) {
            return Err(RemoteCommandFault::Settings(stranger.to_string()));
        }
        if let Some(what) = program::missing_runtime(&settings, &self.ports.programs) {
            return Err(RemoteCommandFault::Settings(format!("{what} is not here")));
        }
        let bytes = serde_json::to_vec(&*settings).map_or(usize::MAX, |text| text.len());
        if !self.capacity.holds(bytes) {
            let why = format!("they have {bytes} bytes, which is more than the store takes");
            return Err(RemoteCommandFault::Settings(why));
        }
        Ok(())
    }

    /// Validates edited arguments like those of a model. An edit that changes nothing is removed.
    /// The core rejects an answer without an open approval.
    fn validate_edit(
        &mut self,
        call: CallId,
        answer: &mut ApprovalAnswer,
    ) -> Result<(), RemoteCommandFault> {
        let edit = match answer {
            ApprovalAnswer::Deny { reason } => {
                capacity::cut(reason, ANSWER);
                return Ok(());
            }
            ApprovalAnswer::Granted { grant } => {
                capacity::cut(&mut grant.text, ANSWER);
                return Ok(());
            }
            ApprovalAnswer::Allow { edit } => edit,
        };
        let Some(Edit { text, .. }) = edit.take() else {
            return Ok(());
        };
        self.fits(&[&text])?;
        let asked = self.machine.history().call(call).map(|call| call.name.clone());
        let (Some(tool), Some(checker)) = (asked, self.checker()) else {
            return Ok(());
        };
        if self.machine.history().arguments(call).is_none_or(|now| now != text) {
            *edit = Some(checker.edit(&tool, text));
        }
        Ok(())
    }
}
