//! Checks of an input before it is decided that are no rules about turns: schemas and sizes.

use std::sync::Arc;

use windlass_core::machine::Fault;
use windlass_core::{Answer, CallId, ContextPart, Edit, Input, Lineage, Settings, stranger};

use super::Driver;
use crate::arguments::Checker;
use crate::effect::REASON as ANSWER;
use crate::{program, size};

/// The longest reason for a stop, in bytes; the rest of it is dropped.
const REASON: usize = 1_024;

impl Driver {
    /// The input, if it may be decided at all.
    pub(super) fn checked(&mut self, mut input: Input) -> Result<Input, Fault> {
        self.check(&mut input)?;
        Ok(input)
    }

    fn check(&mut self, input: &mut Input) -> Result<(), Fault> {
        match input {
            Input::Keyed { key, input } => {
                self.fits(&[key])?;
                self.check(input)?;
            }
            Input::Send {
                text, context, key, ..
            } => {
                let mut texts = vec![text.as_str(), key.as_deref().unwrap_or_default()];
                let parts = |part: &ContextPart| [part.from.clone(), part.text.to_string()];
                let parts: Vec<String> = context.iter().flat_map(parts).collect();
                texts.extend(parts.iter().map(String::as_str));
                self.fits(&texts)?;
            }
            Input::Configure { settings, .. } => self.usable(settings)?,
            Input::SetGoal { goal, .. } => {
                self.fits(&[goal.as_ref().map_or("", |goal| &goal.text)])?;
            }
            Input::Interrupt { reason, .. } => size::cut(reason, REASON),
            Input::Answer { call, answer, .. } => self.look_at(*call, answer)?,
            Input::Continue
            | Input::Close
            | Input::Recovered
            | Input::Tick
            | Input::Sampled { .. }
            | Input::Ran { .. }
            | Input::Returned { .. }
            | Input::Programmed { .. }
            | Input::Hooked { .. }
            | Input::Asked { .. }
            | Input::Reconciled { .. }
            | Input::Compacted { .. }
            | Input::NeverBegan { .. } => {}
        }
        Ok(())
    }

    fn fits(&self, texts: &[&str]) -> Result<(), Fault> {
        if self.size.fits(texts) {
            return Ok(());
        }
        let bytes = texts.iter().map(|text| text.len());
        Err(Fault::TooLarge(bytes.fold(0_usize, usize::saturating_add)))
    }

    fn usable(&self, settings: &Settings) -> Result<(), Fault> {
        let settings = Arc::new(settings.clone());
        Checker::new(&settings).map_err(Fault::Settings)?;
        let other = settings.tools != self.machine.session().settings.tools;
        let child = matches!(*self.machine.session().lineage, Lineage::Child { .. });
        if let Some(stranger) = stranger(&settings.tools).filter(|_| other && !child) {
            return Err(Fault::Settings(stranger.to_string()));
        }
        if let Some(what) = program::lacking(&settings, &self.ports.programs) {
            return Err(Fault::Settings(format!("{what} is not here")));
        }
        let bytes = serde_json::to_vec(&*settings).map_or(usize::MAX, |text| text.len());
        if !self.size.holds(bytes) {
            let why = format!("they have {bytes} bytes, which is more than the store takes");
            return Err(Fault::Settings(why));
        }
        Ok(())
    }

    /// Edited arguments are looked at like those of the model; an edit that changes nothing is
    /// none. An answer to no open question is refused by the core.
    fn look_at(&mut self, call: CallId, answer: &mut Answer) -> Result<(), Fault> {
        let edit = match answer {
            Answer::Deny { reason } => {
                size::cut(reason, ANSWER);
                return Ok(());
            }
            Answer::Allow { edit } => edit,
        };
        let Some(Edit { text, .. }) = edit.take() else {
            return Ok(());
        };
        self.fits(&[&text])?;
        let asked = self
            .machine
            .history()
            .call(call)
            .map(|call| call.name.clone());
        let (Some(tool), Some(checker)) = (asked, self.checker()) else {
            return Ok(());
        };
        if self
            .machine
            .history()
            .arguments(call)
            .is_none_or(|now| now != text)
        {
            *edit = Some(checker.edit(&tool, text));
        }
        Ok(())
    }
}
