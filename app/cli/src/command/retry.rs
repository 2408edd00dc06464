//! Retry: finds the prompt of a turn that did not complete, to send it again.

use windlass_engine::core::{Fact, InputQueued, Seq, SessionId, TurnOutcome};
use windlass_engine::ports::{BlobReader, LogReader};

use super::prompt::Prompt;
use crate::exit::{ExitKind, Failure};
use crate::wiring::StoreHandle;

/// Prompt of the last turn, to be sent again.
pub(super) struct RetriedPrompt {
    pub(super) prompt: Prompt,
    pub(super) images: Vec<Vec<u8>>,
    /// True if the turn ran no call. Then it leaves the conversation, so that the model reads the
    /// prompt once; else its calls and their results stay.
    pub(super) rewinds: bool,
}

/// State of a log, as far as a retry depends on it.
#[derive(Default)]
struct LastTurn {
    input: Option<InputQueued>,
    /// True from the turn's first call on.
    ran: bool,
    open: bool,
    outcome: Option<TurnOutcome>,
}

/// Finds the prompt of the last turn of a session.
///
/// # Errors
/// [`Failure`] when the turn is open or completed, or its prompt is not stored.
pub(super) async fn last_prompt(
    opened: &StoreHandle,
    id: &SessionId,
) -> Result<RetriedPrompt, Failure> {
    let mut last = LastTurn::default();
    let mut facts = LogReader::new(opened.store.clone(), id.clone(), Seq::ZERO, usize::MAX);
    while let Some(fact) = facts.next().await? {
        last.apply(&fact.fact);
    }
    let refused = |why: String| Err(Failure::usage(format!("cannot retry session {id}: {why}")));
    match (last.open, &last.outcome) {
        (true, _) => {
            refused(format!("its last turn is unfinished, and `windlass resume {id}` continues it"))
        }
        (false, Some(TurnOutcome::Completed)) => refused("its last turn completed".to_owned()),
        (false, _) => match last.input {
            Some(input) => retried(opened, id, &input, !last.ran).await,
            None => refused("it has no prompt".to_owned()),
        },
    }
}

async fn retried(
    opened: &StoreHandle,
    id: &SessionId,
    input: &InputQueued,
    rewinds: bool,
) -> Result<RetriedPrompt, Failure> {
    let blobs = BlobReader::new(opened.blobs.clone(), id.clone());
    let mut images = Vec::new();
    for image in &input.images {
        let read = blobs.read(&image.sha256, image.bytes).await;
        images.push(read.map_err(|error| {
            let words = format!("cannot read an image of the last prompt: {error}");
            Failure::new(ExitKind::Store, words)
        })?);
    }
    Ok(RetriedPrompt { prompt: Prompt::recorded(&input.text), images, rewinds })
}

impl LastTurn {
    #[expect(clippy::wildcard_enum_match_arm, reason = "few facts concern a retry")]
    fn apply(&mut self, fact: &Fact) {
        match fact {
            // Results of agents are no prompts, and neither are commands.
            Fact::InputQueued(queued) if queued.result_of.is_none() && queued.command.is_none() => {
                self.input = Some(queued.clone());
            }
            Fact::TurnOpened(_) => {
                self.open = true;
                self.ran = false;
            }
            Fact::CallStarted(_) | Fact::ProgramCalled(_) => self.ran = true,
            Fact::TurnSettled(settled) => {
                self.open = false;
                self.outcome = Some(settled.outcome.clone());
            }
            _ => {}
        }
    }
}
