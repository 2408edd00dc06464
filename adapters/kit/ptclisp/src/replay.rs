//! A run that was lost, made again from the program's start with the answers that were recorded.

use crate::program::{LispRun, Program, RunStep, ToolAnswer, ToolCall};
use crate::session::LispSession;

/// A call that was made, and what the tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// Call of the tool.
    pub call: ToolCall,
    /// Answer of the tool.
    pub answer: ToolAnswer,
}

const REMEDY: &str =
    "run it with the program, inputs, session and limits that the calls were recorded with";

/// Difference between the recorded calls and those that the program makes.
///
/// The program, its inputs, its session or its limits differ from the recorded run. The run must not continue,
/// as its calls would not be the recorded ones.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayDivergence {
    /// The program makes another call than the recorded one.
    #[error(
        "call {} of the program is {}, but {} with other arguments or of another name was recorded: {REMEDY}",
        actual.index, actual.name, recorded.name
    )]
    Other {
        /// Call in the record.
        recorded: ToolCall,
        /// Call of the program.
        actual: ToolCall,
    },
    /// The program ends before this recorded call.
    #[error(
        "the program ends before call {} ({}), which was recorded: {REMEDY}",
        .0.index, .0.name
    )]
    Ended(ToolCall),
}

impl Program {
    /// Runs from the start with recorded answers, to the first step that has a call without one, or to
    /// the end. The first calls of that step may be on record: those whose index is smaller than the
    /// number of recorded calls.
    ///
    /// # Errors
    /// If the program does not make the recorded calls.
    pub fn replay(
        &self,
        session: &LispSession,
        recorded: &[RecordedCall],
    ) -> Result<(LispRun, RunStep), ReplayDivergence> {
        let mut run = self.start(session);
        let mut step = run.first();
        let mut left = recorded;
        while let Some(RecordedCall { call, .. }) = left.first() {
            let made = match &step {
                RunStep::Calls(made) => made,
                RunStep::Done(_) => return Err(ReplayDivergence::Ended(call.clone())),
            };
            for (made, RecordedCall { call, .. }) in made.iter().zip(left) {
                if made != call {
                    let (recorded, made) = (call.clone(), made.clone());
                    return Err(ReplayDivergence::Other { recorded, actual: made });
                }
            }
            let Some((known, after)) = left.split_at_checked(made.len()) else {
                break;
            };
            let answers = known.iter().map(|known| known.answer.clone());
            step = match run.resume(answers.collect()) {
                Ok(step) => step,
                Err(_) => return Err(ReplayDivergence::Ended(call.clone())),
            };
            left = after;
        }
        Ok((run, step))
    }
}
