//! Replay: compares a run with the recorded calls. Pure.
//!
//! A repeated run receives the recorded answers as long as it makes the recorded calls. From the
//! first call without an answer it continues like any other. The record may end within the calls of
//! one step: the rest of them are made then.

use windlass_core::{ProgramCallState, ProgramFault};
use windlass_ports::{ProgramCall, ProgramResult, ProgramStep};

use super::faults::EngineFault;

/// Longest description of a call in a message, in characters.
const WORDS: usize = 200;

/// State of a run.
#[derive(Debug, Default)]
pub(crate) struct ReplayState {
    /// Calls whose answers the run waits for.
    pending_calls: Vec<ProgramCall>,
    /// Number of earlier calls, all of them answered.
    answered: usize,
}

/// Next step of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReplayStep {
    /// Continue the run with the answers of this many calls, from the start of the record.
    Continue(usize),
    /// Make these calls.
    Calls(Vec<ProgramCall>),
}

impl ReplayState {
    /// Returns the number of recorded calls whose answers it has received.
    pub(crate) fn answered(&self) -> usize {
        self.answered
    }

    /// Returns the number of calls that the run has made, including those that it waits for.
    pub(crate) fn made(&self) -> usize {
        self.answered.saturating_add(self.pending_calls.len())
    }

    /// Returns the next step. `record` has the calls from the first one whose answer the run has
    /// not received.
    pub(crate) fn next(&self, record: &[ProgramCallState]) -> Result<ReplayStep, ProgramFault> {
        for (now, before) in self.pending_calls.iter().zip(record) {
            if *now.name != *before.call.name || now.arguments != before.call.arguments {
                return Err(diverged(&format!(
                    "it calls {} where {} is on record",
                    words(&now.name, &now.arguments),
                    words(&before.call.name, &before.call.arguments)
                )));
            }
        }
        Ok(match self.pending_calls.get(record.len()..) {
            None | Some([]) => ReplayStep::Continue(self.pending_calls.len()),
            Some(rest) => ReplayStep::Calls(rest.to_vec()),
        })
    }

    /// Advances after the run has received all answers that it waited for. `left` recorded calls
    /// come after those. Returns the result once the run has ended.
    pub(crate) fn advance(
        &mut self,
        step: ProgramStep,
        left: usize,
    ) -> Result<Option<Box<ProgramResult>>, ProgramFault> {
        self.answered = self.made();
        self.pending_calls = match step {
            ProgramStep::Calls(calls) if calls.is_empty() => {
                let words = "the runtime said that the program waits, and for nothing";
                return Err(
                    EngineFault::Defect.with_message(words, "This is a defect of the runtime.")
                );
            }
            ProgramStep::Calls(calls) => calls,
            ProgramStep::Done(done) if left == 0 => return Ok(Some(done)),
            ProgramStep::Done(_) => {
                let words = format!("it ends where {left} more calls are on record");
                return Err(diverged(&words));
            }
        };
        Ok(None)
    }
}

fn diverged(how: &str) -> ProgramFault {
    EngineFault::Diverged.with_message(
        format!("the program was run again and did not do what it had done: {how}"),
        "Its calls stand. Go on from what they have done, with another program.",
    )
}

fn words(name: &str, arguments: &str) -> String {
    format!("{name} {arguments}").chars().take(WORDS).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_core::{CallId, CallItem, ProgramEnd};

    use super::*;

    fn call(name: &str) -> ProgramCall {
        ProgramCall { name: name.into(), arguments: "{}".into() }
    }

    fn record(names: &[&str]) -> Vec<ProgramCallState> {
        let made = |name: &&str| ProgramCallState {
            id: CallId(1),
            call: Arc::new(CallItem {
                provider_id: String::new(),
                name: (*name).into(),
                arguments: "{}".into(),
                fault: None,
                rules: Vec::new(),
                possible_rules: Vec::new(),
                outside_sandbox: false,
                sha256: None,
                opaque: None,
                inline: false,
            }),
            edited: None,
            started: false,
            observation: None,
        };
        names.iter().map(made).collect()
    }

    fn done() -> ProgramStep {
        ProgramStep::Done(Box::new(ProgramResult {
            end: ProgramEnd::Value { value: "1".into() },
            prints: Vec::new(),
            retained: Vec::new(),
            defined: Vec::new(),
            alive: Vec::new(),
            steps: 1,
        }))
    }

    /// Runs steps over a record, and returns the final result.
    fn replay(steps: Vec<ProgramStep>, record: &[ProgramCallState]) -> Result<Vec<String>, String> {
        let (mut standing, mut at) = (ReplayState::default(), 0);
        let mut steps = steps.into_iter();
        loop {
            match standing.next(&record[at..]).map_err(|fault| fault.class)? {
                ReplayStep::Calls(calls) => {
                    assert_eq!(standing.answered(), at);
                    return Ok(calls.iter().map(|call| call.name.to_string()).collect());
                }
                ReplayStep::Continue(count) => at += count,
            }
            let left = record.len() - at;
            let ended = standing.advance(steps.next().unwrap(), left);
            if ended.map_err(|fault| fault.class)?.is_some() {
                return Ok(vec!["ended".into()]);
            }
        }
    }

    fn two() -> Vec<ProgramStep> {
        vec![
            ProgramStep::Calls(vec![call("a"), call("b")]),
            ProgramStep::Calls(vec![call("c")]),
            done(),
        ]
    }

    #[test]
    fn goes_on_at_the_first_call_without_a_record_wherever_that_is() {
        for (before, after) in [
            (&[][..], &["a", "b"][..]),
            (&["a"], &["b"]),
            (&["a", "b"], &["c"]),
            (&["a", "b", "c"], &["ended"]),
        ] {
            assert_eq!(replay(two(), &record(before)).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn other_calls_than_on_record_are_a_divergence() {
        for before in [&["b"][..], &["a", "c"], &["a", "b", "a"], &["a", "b", "c", "d"]] {
            let fault = replay(two(), &record(before)).unwrap_err();
            assert_eq!(fault, ProgramFault::DIVERGED, "{before:?}");
        }
        let mut other = record(&["a", "b"]);
        Arc::make_mut(&mut other[1].call).arguments = "{\"n\":1}".into();
        assert_eq!(replay(two(), &other).unwrap_err(), ProgramFault::DIVERGED);
    }

    #[test]
    fn a_runtime_that_waits_for_nothing_is_not_waited_for() {
        let steps = vec![ProgramStep::Calls(Vec::new())];
        assert_eq!(replay(steps, &[]).unwrap_err(), "runtime_defect");
    }
}
