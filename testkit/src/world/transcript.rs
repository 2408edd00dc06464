//! Transcripts: what happened in a simulated world, for people to read.

use windlass_core::{
    Because, CallDecided, EffectKey, Fact, Interrupter, Item, Observation, Outcome, Recorded,
    StopReason, Verdict,
};

use super::words::spell;

/// One line of a fact: its position, its kind, and what matters.
#[must_use]
pub fn line(recorded: &Recorded) -> String {
    let kind = recorded.fact.kind();
    format!("{:>4} {kind}{}", recorded.seq.0, essentials(recorded))
}

fn essentials(recorded: &Recorded) -> String {
    match &recorded.fact {
        Fact::SessionOpened(_) => String::new(),
        Fact::SettingsChanged(fact) => {
            let settings = &fact.settings;
            let (mode, permissions) = (spell(&settings.mode), spell(&settings.permissions));
            format!(" mode {mode}, permissions {permissions}")
        }
        Fact::InputQueued(fact) => {
            let key = fact.key.as_ref().map(|key| format!(", key {key}"));
            let dry = if fact.dry_run { ", dry run" } else { "" };
            format!(" {:?}{}{dry}", &*fact.text, key.unwrap_or_default())
        }
        Fact::TurnOpened(fact) => {
            let dry = if fact.dry_run { ", dry run" } else { "" };
            format!(" because {}{dry}", because(&fact.because))
        }
        Fact::InputAccepted(fact) => format!(" input {}", fact.input),
        Fact::SampleStarted(fact) => format!(
            " sample {} attempt {} because {}",
            fact.sample,
            fact.attempt,
            because(&fact.because)
        ),
        Fact::ItemAdded(fact) => match &fact.item {
            Item::Text { text } => format!(" text {text:?}"),
            Item::Refusal { text } => format!(" refusal {text:?}"),
            Item::Reasoning(item) => format!(" reasoning {:?}", item.text),
            Item::Call(call) => format!(" call {} {}", call.name, call.arguments),
        },
        Fact::SampleEnded(fact) => {
            let usage = fact
                .usage
                .map(|usage| format!(", {} tokens", usage.tokens()));
            format!(" {}{}", stop(&fact.stop), usage.unwrap_or_default())
        }
        Fact::SampleCut(fact) => {
            let partial = match fact.partial.as_str() {
                "" => String::new(),
                text => format!(", partial {text:?}"),
            };
            let next = match fact.retry_at {
                Some(at) => format!(", next attempt in {} ms", at.since_ms(recorded.ts)),
                None => String::from(", no further attempt"),
            };
            format!(" {}{partial}{next}", spell(&fact.failure.kind))
        }
        Fact::CallDecided(fact) => decided(fact),
        Fact::CallStarted(fact) => format!(" call {} attempt {}", fact.call, fact.attempt),
        Fact::CallObserved(fact) => {
            format!(" call {} {}", fact.call, observed(&fact.observation))
        }
        Fact::InterruptRequested(fact) => format!(" by {}: {}", spell(&fact.by), fact.reason),
        Fact::TurnSettled(fact) => format!(" {}", outcome(&fact.outcome)),
    }
}

fn decided(fact: &CallDecided) -> String {
    match fact.verdict {
        Verdict::Allow => format!(" call {} allow: {}", fact.call, fact.reason),
        Verdict::Deny => format!(" call {} deny", fact.call),
    }
}

fn because(because: &Because) -> String {
    match because {
        Because::Opened { input } => format!("opened by input {input}"),
        Because::ToolResults => String::from("tool results"),
        Because::Retry => String::from("retry"),
        Because::Unfinished => String::from("unfinished"),
    }
}

fn stop(stop: &StopReason) -> String {
    match stop {
        StopReason::Other(words) => format!("other {words:?}"),
        StopReason::Stop
        | StopReason::Length
        | StopReason::ContentFilter
        | StopReason::Unfinished => spell(stop),
    }
}

fn observed(observation: &Observation) -> String {
    format!("{}: {}", spell(&observation.status), observation.output)
}

/// An outcome, with its reason.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed => String::from("completed"),
        Outcome::NoAnswer => String::from("no answer"),
        Outcome::Refused => String::from("refused"),
        Outcome::Interrupted { by, .. } => match by {
            Interrupter::Person | Interrupter::Shutdown | Interrupter::Deadline => {
                format!("interrupted by {}", spell(by))
            }
        },
        Outcome::Blocked { reason } => format!("blocked: {reason}"),
        Outcome::Exhausted { limit } => format!("exhausted: {}", spell(limit)),
        Outcome::Failed { failure, message } => {
            format!("failed: {}: {message}", spell(failure))
        }
    }
}

/// An effect, by the fact that caused it.
#[must_use]
pub fn effect(key: &EffectKey) -> String {
    match key {
        EffectKey::Sample { started } => format!("sample@{started}"),
        EffectKey::Call { call, started } => format!("call {call}@{started}"),
    }
}
