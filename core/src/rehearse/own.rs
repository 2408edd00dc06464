//! Own words: facts that only the engine itself writes, told by what they say.
//!
//! A tool may report that nobody knows what became of a call, and so may the engine. Without this
//! a recovery that would be another one would pass for an answer of the world. The words are those
//! that logs hold; they stay here when the engine's own become others.

use crate::fact::{CompactionFact, Fact, FactGroup, HookFact, PermissionFact, RunFact, SampleFact};
use crate::scope::Scope;

/// Results that the engine itself gives to calls without any other result.
const CALLS: &[&str] = &[
    "Unknown: the process that ran this call ended before the call did. It may have taken effect \
     or not; check before you repeat it.",
    "Unknown: the process that ran this call ended before the call did, and it was not run again. \
     It may have taken effect or not; check before you repeat it.",
    "Stopped: the process that ran this call ended. The tool changes nothing.",
    "Stopped: the turn was asked to stop. The tool changes nothing.",
    "Unknown: the turn was asked to stop and this call did not end in time. It may have taken \
     effect or not; check before you repeat it.",
    "Not run: the turn was asked to stop before this call began.",
    "Stopped: the turn was asked to stop while this program ran. The calls that it had made are not \
     undone.",
    "The program ended, and the process ended before it was told with what. The calls that it had \
     made are not undone.",
    "Stopped: the process that ran this program ended. The calls that it had made are not undone.",
    "Stopped: its runtime said that it waits, and for nothing. This is a defect of the runtime.",
];

/// Failures that the engine itself gives to samples.
const SAMPLES: &[&str] = &[
    "the process ended while the model answered; the model is asked again",
    "the process ended while the model answered",
    "the model's stream did not stop within its grace and was abandoned",
    "the turn was asked to stop before the model was asked",
];

/// Failures that the engine itself gives to compactions.
const COMPACTIONS: &[&str] = &["the process ended each time while it was made"];

/// Returns true if the engine itself says this, and no effect does.
pub(super) fn is_own(fact: &Fact) -> bool {
    match fact.group() {
        FactGroup::Run(RunFact::CallObserved(fact)) => {
            CALLS.contains(&fact.observation.output.as_str())
        }
        FactGroup::Sample(SampleFact::SampleCut(fact)) => {
            SAMPLES.contains(&fact.failure.message.as_str())
        }
        FactGroup::Compaction(CompactionFact::CompactionFailed(fact)) => {
            COMPACTIONS.contains(&fact.reason.as_str())
        }
        FactGroup::Hook(HookFact::HookDecided(fact)) => {
            let name = fact.name.as_str();
            let words = fact.reason.strip_prefix("hook ");
            let words = words.and_then(|words| words.strip_prefix(name));
            matches!(
                words,
                Some(" was cut short: its process ended" | " did not answer in time")
            )
        }
        FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => match &*fact.by {
            Scope::System { reason } => reason == "nobody answered in time",
            Scope::Principal { .. } => false,
        },
        FactGroup::Run(RunFact::CallStarted(_))
        | FactGroup::Sample(
            SampleFact::SampleStarted(_) | SampleFact::ItemAdded(_) | SampleFact::SampleEnded(_),
        )
        | FactGroup::Compaction(
            CompactionFact::CompactionStarted(_) | CompactionFact::Compacted(_),
        )
        | FactGroup::Hook(HookFact::HooksAsked(_))
        | FactGroup::Permission(
            PermissionFact::CallDecided(_) | PermissionFact::ApprovalAsked(_),
        )
        | FactGroup::Session(_)
        | FactGroup::Recovery(_)
        | FactGroup::Goal(_)
        | FactGroup::Input(_)
        | FactGroup::Turn(_)
        | FactGroup::Context(_)
        | FactGroup::Program(_) => false,
    }
}
