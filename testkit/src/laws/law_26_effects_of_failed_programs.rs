//! Law 26: an effect of a failed program is not repeated by the next one unawares.
//!
//! A program that failed is written again with its earlier calls in it. An effectful call that
//! equals one of a failed program of the same turn, which took effect or may have, does not start
//! in the first program that makes it again: its result says why, for all calls of failed programs.
//! Later programs may make them.
//!
//! It kills: a corrected program that does over what the failed one has done.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{CallId, EffectClass, Fact, ObservationStatus, RecordedFact};

use super::{Held, hold, reading};

/// Tool and arguments of a call.
type Effect<'a> = (&'a str, &'a str);

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that repeats an effect unawares.
pub fn check(log: &[RecordedFact]) -> Held {
    let mut reader = Reader::default();
    log.iter().try_for_each(|recorded| reader.take(log, recorded))
}

#[derive(Default)]
struct Reader<'a> {
    /// Programs that made each call.
    programs: BTreeMap<CallId, CallId>,
    started: BTreeSet<CallId>,
    edited: BTreeSet<CallId>,
    decided: BTreeSet<CallId>,
    /// Programs that caused an effect last, and the program that was told about it.
    effects: BTreeMap<Effect<'a>, (CallId, Option<CallId>)>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, log: &'a [RecordedFact], recorded: &'a RecordedFact) -> Held {
        if let Fact::TurnOpened(_) = &recorded.fact {
            self.effects.clear();
        }
        if let Fact::ProgramCalled(fact) = &recorded.fact {
            self.programs.insert(CallId(recorded.seq.0), fact.program);
        }
        if let Fact::CallDecided(fact) = &recorded.fact {
            self.decided.insert(fact.call);
        }
        if let Fact::ApprovalAnswered(fact) = &recorded.fact {
            self.edited.extend(fact.edit.as_ref().map(|_| fact.call));
        }
        if let Fact::HookDecided(fact) = &recorded.fact {
            let call = reading::place(log, fact).and_then(|at| at.call());
            self.edited.extend(call.filter(|_| fact.edit.is_some()));
        }
        if let Fact::CallObserved(fact) = &recorded.fact {
            self.on_ended(log, fact.call, fact.observation.status);
        }
        if let Fact::ProgramRun(fact) = &recorded.fact
            && fact.fault.is_none()
            && fact.outcome.end.retains_definitions()
        {
            self.effects.retain(|_, (program, _)| *program != fact.program);
        }
        let Fact::CallStarted(fact) = &recorded.fact else {
            return Ok(());
        };
        self.started.insert(fact.call);
        self.on_started(log, fact.call)
    }

    fn on_started(&self, log: &'a [RecordedFact], call: CallId) -> Held {
        let Some((program, effect)) = self.effect(log, call) else {
            return Ok(());
        };
        hold(26, !self.repeats(program, effect), || {
            format!("call {call} repeats an effect of a failed program")
        })
    }

    /// True if a call of this program repeats an effect that its model was not told about before.
    fn repeats(&self, program: CallId, effect: Effect<'a>) -> bool {
        self.effects
            .get(&effect)
            .is_some_and(|(by, told)| *by != program && told.is_none_or(|told| told == program))
    }

    fn on_ended(&mut self, log: &'a [RecordedFact], call: CallId, status: ObservationStatus) {
        let Some((program, effect)) = self.effect(log, call) else {
            return;
        };
        match (self.started.contains(&call), status) {
            (
                true,
                ObservationStatus::Done | ObservationStatus::Unknown | ObservationStatus::Aborted,
            ) => {
                self.effects.insert(effect, (program, None));
            }
            (false, ObservationStatus::NotStarted) if !self.decided.contains(&call) => {
                if self.repeats(program, effect) {
                    let others = self.effects.values_mut().filter(|(by, _)| *by != program);
                    others.for_each(|(_, told)| _ = told.get_or_insert(program));
                }
            }
            (_, _) => {}
        }
    }

    /// The program that made an effectful call, and the call as it was written. An edit by a person
    /// or a hook is a decision of its own.
    fn effect(&self, log: &'a [RecordedFact], call: CallId) -> Option<(CallId, Effect<'a>)> {
        let program = self.programs.get(&call).filter(|_| !self.edited.contains(&call))?;
        let (turn, _, tool) = reading::tool(log, call)?;
        let (_, item) = reading::call(log, call)?;
        let effectful = tool.effect == EffectClass::Effectful && !turn.dry_run;
        effectful.then_some((*program, (&*item.name, &*item.arguments)))
    }
}
