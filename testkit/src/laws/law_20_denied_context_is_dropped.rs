//! Law 20: what a hook that denied an input had to add never reaches the model.
//!
//! The hooks of a session's start, of a prompt and of a child's turn may each deny the input that
//! they are asked about, be it the one that the turn is opened for or a steer. Once one of them has,
//! no context of that occurrence enters the conversation, whichever of its hooks gave it.
//!
//! It kills: a gate that hands on what it was given, whatever its hooks said together.

use windlass_core::{ContextSource, Fact, HookOccurrence, HookVerdict, RecordedFact, Seq};

use super::{Held, hold, reading};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first context that came with a denial.
pub fn check(log: &[RecordedFact]) -> Held {
    for recorded in log {
        let Fact::ContextInjected(fact) = &recorded.fact else {
            continue;
        };
        let ContextSource::Hook { decided } = fact.from else {
            continue;
        };
        let denial = denial(log, decided);
        hold(20, denial.is_none(), || {
            format!(
                "{} tells the model what the hook of {decided} gave, and {denial:?} denied the input",
                recorded.seq
            )
        })?;
    }
    Ok(())
}

/// The denial of the input that a hook was asked about, by that hook or by another of its occurrence.
fn denial(log: &[RecordedFact], decided: Seq) -> Option<Seq> {
    let gave = reading::at(log, decided)?;
    let place = place(log, gave)?;
    let lets_in = matches!(
        place,
        HookOccurrence::SessionStart { .. }
            | HookOccurrence::PromptSubmitted { .. }
            | HookOccurrence::SubTurnStart
    );
    let turn = gave.turn?;
    let denies = |recorded: &&RecordedFact| {
        let Fact::HookDecided(fact) = &recorded.fact else {
            return false;
        };
        recorded.turn == Some(turn)
            && reading::counts_as(&reading::hooks(log, recorded), fact) == HookVerdict::Deny
    };
    let mut denials = log.iter().filter(|_| lets_in).filter(denies);
    let denial = denials.find(|recorded| self::place(log, recorded) == Some(place));
    denial.map(|recorded| recorded.seq)
}

/// Where a hook was asked that has decided.
fn place(log: &[RecordedFact], recorded: &RecordedFact) -> Option<HookOccurrence> {
    let Fact::HookDecided(fact) = &recorded.fact else {
        return None;
    };
    reading::place(log, fact)
}
