//! Law 19: nothing starts that the process at hand would refuse, whatever its log allows.
//!
//! From the moment at which a process has its ceiling, no call starts that the ceiling's mode,
//! permissions and rules forbid: also none that an earlier process allowed, none whose run is
//! repeated after a crash, and none whose effect class the log understates. Where the ceiling asks a
//! person, a person, a hook or a rule of the ceiling has allowed the call.
//!
//! It kills: a decision of an earlier process that stands although it would be another one now, a
//! run that is repeated without being permitted, a machine that compares too late or never.

use windlass_core::{
    CallId, Ceiling, EffectClass, Fact, HookOccurrence, HookVerdict, Mode, Permissions,
    RecordedFact, RuleVerdict, Seq, Verdict,
};

use super::{Held, hold, reading};

/// Checks a log whose process had these ceilings, each from after a position on.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that started and should not have.
pub fn check(log: &[RecordedFact], ceilings: &[(Seq, Ceiling)]) -> Held {
    for recorded in log {
        let Fact::CallStarted(fact) = &recorded.fact else {
            continue;
        };
        let since = ceilings.iter().filter(|(since, _)| recorded.seq > *since);
        for (since, ceiling) in since {
            let refused = refusal(log, fact.call, *since, ceiling);
            hold(19, refused.is_none(), || {
                let why = refused.unwrap_or_default();
                format!("{} starts call {}: {why}", recorded.seq, fact.call)
            })?;
        }
    }
    Ok(())
}

/// The reason why the ceiling refuses a call, if it does.
fn refusal(
    log: &[RecordedFact],
    call: CallId,
    since: Seq,
    ceiling: &Ceiling,
) -> Option<&'static str> {
    // A program is no tool: what it calls is.
    if reading::is_program(log, call) {
        return None;
    }
    let (turn, settings, tool) = reading::tool(log, call)?;
    let known = ceiling.effects.get(&tool.name).copied().unwrap_or(tool.effect);
    let changes = tool.effect.max(known) != EffectClass::ReadOnly;
    if changes && (ceiling.mode == Mode::Plan || ceiling.permissions == Permissions::ReadOnly) {
        return Some("only read-only tools run in this process");
    }
    // The rules of a world are about whole tools, or about arguments that law 15 compares.
    let rules = ceiling.rules.iter();
    let met = rules.filter(|rule| rule.tool == tool.name && rule.argument.is_none());
    let strictest = met.map(|rule| rule.verdict).max();
    if strictest == Some(RuleVerdict::Deny) {
        return Some("a rule of this process denies it");
    }
    // Where the settings ask already, law 15 holds the call to it.
    let asks = ceiling.permissions == Permissions::Ask && changes;
    let asks = asks && settings.permissions == Permissions::Auto && !turn.dry_run;
    let must_ask = strictest == Some(RuleVerdict::Ask) || (asks && strictest.is_none());
    let proposed = Seq(call.0);
    let word = must_ask && proposed > since && !is_allowed(log, call);
    word.then_some("a person must be asked before")
}

/// Returns true if a person or a hook allowed the call.
fn is_allowed(log: &[RecordedFact], call: CallId) -> bool {
    log.iter().any(|recorded| {
        if let Fact::ApprovalAnswered(fact) = &recorded.fact {
            return fact.call == call && fact.verdict == Verdict::Allow;
        }
        let Fact::HookDecided(fact) = &recorded.fact else {
            return false;
        };
        let place = reading::place(log, fact);
        let about = place.as_ref().and_then(HookOccurrence::call) == Some(call);
        about && fact.verdict == HookVerdict::Allow
    })
}
