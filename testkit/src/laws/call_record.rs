//! Record of a call: what a log says of it, for the checks of users' laws.

use std::collections::BTreeMap;

use windlass_core::{
    CallId, Fact, HookOccurrence, HookVerdict, InputAccepted, Item, Observation, RecordedFact,
    TurnId, Verdict,
};

use super::reading;

/// One call of a tool, as a log tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord<'a> {
    /// Id of the call: the position of the fact that brought it.
    pub id: CallId,
    /// Turn of the call.
    pub turn: Option<TurnId>,
    /// Program that made the call, if one did.
    pub program: Option<CallId>,
    /// Name of the tool.
    pub name: &'a str,
    /// Arguments as JSON text, with the edits of hooks and people.
    pub arguments: &'a str,
    /// Decision about it, if there is one.
    pub decided: Option<Verdict>,
    /// Verdict of a person, if one answered.
    pub answered: Option<Verdict>,
    /// True if a hook before the tool denied it.
    pub denied_by_hook: bool,
    /// Number of runs that started, without those that only plan.
    pub started: u32,
    /// Result, once it has one.
    pub observation: Option<&'a Observation>,
}

/// Reads the calls of a log, in their order.
pub(super) fn calls(log: &[RecordedFact]) -> BTreeMap<CallId, CallRecord<'_>> {
    let mut calls = BTreeMap::new();
    for recorded in log {
        if let Some((id, call)) = brought(recorded) {
            calls.insert(id, call);
        } else if let Some(id) = about(log, recorded)
            && let Some(call) = calls.get_mut(&id)
        {
            call.follow(log, recorded);
        }
    }
    calls
}

/// The call that a fact brings.
fn brought(recorded: &RecordedFact) -> Option<(CallId, CallRecord<'_>)> {
    let (item, program) = if let Fact::ProgramCalled(fact) = &recorded.fact {
        (&fact.item, Some(fact.program))
    } else if let Fact::InputAccepted(InputAccepted { call: Some(item), .. }) = &recorded.fact {
        (item, None)
    } else if let Fact::ItemAdded(fact) = &recorded.fact
        && let Item::Call(item) = &fact.item
    {
        (item, None)
    } else {
        return None;
    };
    let id = CallId(recorded.seq.0);
    let call = CallRecord {
        id,
        turn: recorded.turn,
        program,
        name: &item.name,
        arguments: &item.arguments,
        decided: None,
        answered: None,
        denied_by_hook: false,
        started: 0,
        observation: None,
    };
    Some((id, call))
}

/// The call that a fact is about.
fn about(log: &[RecordedFact], recorded: &RecordedFact) -> Option<CallId> {
    if let Fact::HookDecided(fact) = &recorded.fact {
        return reading::place(log, fact).as_ref().and_then(HookOccurrence::call);
    }
    if let Fact::CallDecided(fact) = &recorded.fact {
        return Some(fact.call);
    }
    if let Fact::ApprovalAnswered(fact) = &recorded.fact {
        return Some(fact.call);
    }
    if let Fact::CallStarted(fact) = &recorded.fact {
        return Some(fact.call);
    }
    if let Fact::CallObserved(fact) = &recorded.fact {
        return Some(fact.call);
    }
    None
}

impl<'a> CallRecord<'a> {
    /// Adds what a fact says of the call.
    fn follow(&mut self, log: &[RecordedFact], recorded: &'a RecordedFact) {
        if let Fact::HookDecided(fact) = &recorded.fact
            && let Some(HookOccurrence::BeforeTool { .. }) = reading::place(log, fact)
        {
            self.denied_by_hook |= match reading::counts_as(&reading::hooks(log, recorded), fact) {
                HookVerdict::Deny | HookVerdict::Halt | HookVerdict::Overrun => true,
                HookVerdict::Pass | HookVerdict::Allow | HookVerdict::Ask | HookVerdict::Failed => {
                    false
                }
            };
            self.arguments = fact.edit.as_ref().map_or(self.arguments, |edit| &edit.text);
        }
        if let Fact::CallDecided(fact) = &recorded.fact {
            self.decided = Some(fact.verdict);
        }
        if let Fact::ApprovalAnswered(fact) = &recorded.fact {
            self.answered = Some(fact.verdict);
            self.arguments = fact.edit.as_ref().map_or(self.arguments, |edit| &edit.text);
        }
        if let Fact::CallStarted(fact) = &recorded.fact {
            self.started += u32::from(!fact.plan);
        }
        if let Fact::CallObserved(fact) = &recorded.fact {
            self.observation = Some(&fact.observation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Transitions, run};

    #[test]
    fn calls_are_read_with_what_became_of_them() {
        let script = "open permissions=ask hooks=before_tool@shell\nsend hello\n\
                      call write {\"a\":1}\ncall shell {}\nend stop\n\
                      hook 0 deny no\nasked 0 allow edit={\"a\":\"2\"}\ndone 0 ok";
        let world = run(Transitions::CORE, &script.parse().unwrap()).unwrap();
        let told = calls(world.log());
        let told: Vec<_> = told.values().collect();
        let [write, shell] = told[..] else { unreachable!("{told:?}") };
        assert_eq!((write.name, write.arguments, write.started), ("write", r#"{"a":"2"}"#, 1));
        let answered = (write.decided, write.answered, write.observation.is_some());
        assert_eq!(answered, (Some(Verdict::Ask), Some(Verdict::Allow), true));
        assert!(shell.denied_by_hook && shell.started == 0 && !write.denied_by_hook);
    }
}
