//! Law 29: a user's command runs where it was sent, by itself, and the model reads it.
//!
//! A command is accepted only by the process that received it, and under the rules that it was
//! compared with then. Its turn asks no model. Each later request has the command and its result,
//! unless a compaction, a rewind or a cut took them out.
//!
//! It kills: a command of an earlier process that runs, a command that rules have overtaken, a
//! command whose result the model does not read.

use std::collections::BTreeSet;

use windlass_core::{
    CallId, Fact, History, InputAccepted, InputId, InvalidFact, Observation, PromptItem,
    RecordedFact, Rule, Seq, TurnId,
};

use super::{Held, Loss, hold, reading};

/// Checks a log whose earlier processes died like this.
///
/// # Errors
/// [`Broken`](super::Broken) with the first command that runs elsewhere or under other rules, and with
/// the first model that its turn asks.
pub fn check(log: &[RecordedFact], losses: &[Loss]) -> Held {
    let mut commands = BTreeSet::<TurnId>::new();
    for recorded in log {
        if let Fact::InputAccepted(InputAccepted { input, call: Some(_) }) = &recorded.fact {
            commands.extend(recorded.turn);
            hold(29, reading::is_queued_command(log, *input), || {
                format!("{} runs input {input}, which is no command", recorded.seq)
            })?;
            let lost =
                losses.iter().any(|loss| Seq(input.0) <= loss.kept && loss.kept < recorded.seq);
            hold(29, !lost, || {
                format!("{} runs the command {input} of an earlier process", recorded.seq)
            })?;
            hold(29, !rules_changed(log, *input, recorded.seq), || {
                format!("{} runs the command {input}, and the rules have changed", recorded.seq)
            })?;
        }
        if let Fact::SampleStarted(_) = &recorded.fact {
            let asks = recorded.turn.is_some_and(|turn| commands.contains(&turn));
            hold(29, !asks, || format!("{} asks a model for a command", recorded.seq))?;
        }
    }
    Ok(())
}

/// Returns true if the session's rules changed while an input waited.
fn rules_changed(log: &[RecordedFact], input: InputId, until: Seq) -> bool {
    let mut rules: &[Rule] = &[];
    for recorded in log.iter().take_while(|recorded| recorded.seq < until) {
        let waits = recorded.seq.0 > input.0;
        if let Some(settings) = recorded.fact.settings() {
            if waits && settings.rules != rules {
                return true;
            }
            rules = &settings.rules;
        }
        if let Fact::PermissionsNarrowed(fact) = &recorded.fact
            && waits
            && !(fact.rules.is_empty() && fact.withdrawn.is_empty())
        {
            return true;
        }
    }
    false
}

/// Checks the requests of a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first request without a command that it should have.
pub fn check_requests(
    remember: fn(&mut History, &RecordedFact) -> Result<(), InvalidFact>,
    log: &[RecordedFact],
) -> Held {
    let mut history = History::default();
    let mut shown: Vec<(&str, &Observation)> = Vec::new();
    for recorded in log {
        if remember(&mut history, recorded).is_err() {
            // Law 1 and law 10 say so.
            return Ok(());
        }
        if let Fact::CallObserved(fact) = &recorded.fact
            && let Some(command) = command(log, fact.call)
            && fact.form.is_none()
        {
            shown.push((command, &fact.observation));
        }
        if matches!(recorded.fact, Fact::Compacted(_) | Fact::SessionRewound(_)) {
            shown.clear();
        }
        if let Fact::SampleStarted(_) = &recorded.fact {
            for (command, result) in &shown {
                let texts: Vec<&str> = history.items().iter().filter_map(user).collect();
                let asked = texts.iter().position(|text| text.ends_with(command));
                let told = texts.iter().rposition(|text| text.contains(&result.output));
                hold(29, asked.is_some_and(|asked| told > Some(asked)), || {
                    format!("the request of {} does not have the command {command}", recorded.seq)
                })?;
            }
        }
    }
    Ok(())
}

/// The command line of a user's call.
fn command(log: &[RecordedFact], call: CallId) -> Option<&str> {
    let Fact::InputAccepted(accepted) = &reading::at(log, Seq(call.0))?.fact else {
        return None;
    };
    let Fact::InputQueued(queued) = &reading::at(log, Seq(accepted.input.0))?.fact else {
        return None;
    };
    Some(&queued.text)
}

fn user(item: &PromptItem) -> Option<&str> {
    if let PromptItem::User { text } = item { Some(text) } else { None }
}
