//! Law 15: a denied call never starts.
//!
//! A call starts only after a decision that allows it, about exactly the arguments that it runs
//! with. In plan mode and with read-only permissions nothing but read-only tools starts, nor in
//! a dry run; where a person must be asked, nothing else starts unasked. A call that cannot be
//! run (no such tool, broken arguments) does not start.
//!
//! It kills: a policy that allows too much, a start that does not wait for the decision.

use std::collections::BTreeSet;

use windlass_core::{Digest, EffectClass, Fact, Mode, Permissions, Recorded, Verdict};

use super::reading;
use super::{Held, hold};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that started and should not have.
pub fn check(log: &[Recorded]) -> Held {
    let mut allowed = BTreeSet::new();
    for recorded in log {
        match &recorded.fact {
            Fact::CallDecided(fact) => {
                let item = reading::call(log, fact.call).map(|(_, item)| item);
                let about = item.map(|item| Digest::EMPTY.part(item.arguments.as_bytes()));
                hold(15, about == Some(fact.arguments), || {
                    format!(
                        "{} decides about other arguments than those of call {}",
                        recorded.seq, fact.call
                    )
                })?;
                if fact.verdict == Verdict::Allow {
                    allowed.insert(fact.call);
                }
            }
            Fact::CallStarted(fact) => {
                hold(15, allowed.contains(&fact.call), || {
                    format!(
                        "{} starts call {}, which nobody allowed",
                        recorded.seq, fact.call
                    )
                })?;
                hold(15, may_start(log, fact.call), || {
                    format!(
                        "{} starts call {}, which may not run in this turn",
                        recorded.seq, fact.call
                    )
                })?;
            }
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::InputQueued(_)
            | Fact::TurnOpened(_)
            | Fact::InputAccepted(_)
            | Fact::SampleStarted(_)
            | Fact::ItemAdded(_)
            | Fact::SampleEnded(_)
            | Fact::SampleCut(_)
            | Fact::CallObserved(_)
            | Fact::InterruptRequested(_)
            | Fact::TurnSettled(_) => {}
        }
    }
    Ok(())
}

fn may_start(log: &[Recorded], call: windlass_core::CallId) -> bool {
    let fault = reading::call(log, call).and_then(|(_, item)| item.fault.as_ref());
    let (Some((turn, settings, tool)), None) = (reading::tool(log, call), fault) else {
        return false;
    };
    let open = settings.mode == Mode::Build && settings.permissions == Permissions::Auto;
    tool.effect == EffectClass::ReadOnly || (open && !turn.dry_run)
}
