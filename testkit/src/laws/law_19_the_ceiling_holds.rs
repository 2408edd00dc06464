//! Law 19: nothing starts that the process at hand would refuse, whatever its log allows.
//!
//! From the moment at which a process has its ceiling, no call starts that the ceiling's mode,
//! permissions and rules forbid: also none that an earlier process allowed, none whose run is
//! repeated after a crash, and none whose effect class the log understates. Where the ceiling asks a
//! person, a person, a hook or a rule of the ceiling has allowed the call, unless a user made it. The hooks of the ceiling
//! have seen it. A call that an earlier process allowed has been decided again.
//!
//! It kills: a decision of an earlier process that stands although it would be another one now, a
//! run that is repeated without being permitted, a machine that compares too late or never.

use windlass_core::{
    CallId, CallStarted, Ceiling, EffectClass, Fact, HookOccurrence, HookPoint, HookVerdict, Mode,
    Permissions, RecordedFact, Rule, RuleVerdict, Seq, TurnOpened, Verdict,
};

use super::{Held, Loss, hold, reading};

/// Checks a log whose process had these ceilings, each from after a position on, and whose earlier
/// processes died like this.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that started and should not have.
pub fn check(log: &[RecordedFact], ceilings: &[(Seq, Ceiling)], losses: &[Loss]) -> Held {
    for recorded in log {
        let Fact::CallStarted(fact) = &recorded.fact else {
            continue;
        };
        let mut past = ceilings.iter().rev();
        let Some((since, ceiling)) = past.find(|(since, _)| recorded.seq > *since) else {
            continue;
        };
        let refused = refusal(log, fact.call, ceiling)
            .or_else(|| unseen(log, fact.call, ceiling))
            .or_else(|| undecided(log, recorded.seq, fact, *since, losses))
            .or_else(|| unheld(log, recorded.seq, fact.call, (*since, ceiling), losses));
        hold(19, refused.is_none(), || {
            let why = refused.unwrap_or_default();
            format!("{} starts call {}: {why}", recorded.seq, fact.call)
        })?;
    }
    Ok(())
}

/// What a call is to a ceiling: its tool's name, the turn that it is of, and whether running it changes
/// something. A program is no tool: what it calls is.
fn subject<'a>(
    log: &'a [RecordedFact],
    call: CallId,
    ceiling: &Ceiling,
) -> Option<(&'a str, &'a TurnOpened, bool)> {
    let (turn, _, tool) = reading::tool(log, call).filter(|_| !reading::is_program(log, call))?;
    let known = ceiling.effects.get(&tool.name).copied().unwrap_or(tool.effect);
    Some((&tool.name, turn, tool.effect.max(known) != EffectClass::ReadOnly))
}

/// The reason why the ceiling refuses a call, if it does.
fn refusal(log: &[RecordedFact], call: CallId, ceiling: &Ceiling) -> Option<&'static str> {
    let (tool, _, changes) = subject(log, call, ceiling)?;
    // The mode limits the model, and whoever makes a call allows it.
    let command = reading::is_command(log, call);
    let plans = ceiling.mode == Mode::Plan && !command;
    if changes && (plans || ceiling.permissions == Permissions::ReadOnly) {
        return Some("only read-only tools run in this process");
    }
    // Law 15 compares arguments. Here a rule about one counts only where it may allow.
    let rules = ceiling.rules.iter().filter(|rule| rule.tool == tool || rule.tool == "*");
    let (whole, partial): (Vec<&Rule>, Vec<&Rule>) = rules.partition(|it| it.argument.is_none());
    let strictest = whole.iter().map(|rule| rule.verdict).max();
    if strictest == Some(RuleVerdict::Deny) {
        return Some("a rule of this process denies it");
    }
    let allows = |rule: &&Rule| rule.verdict == RuleVerdict::Allow;
    let may = strictest == Some(RuleVerdict::Allow) || partial.iter().any(allows);
    let asks = changes && ceiling.permissions == Permissions::Ask && !may;
    let unasked =
        !command && (asks || strictest == Some(RuleVerdict::Ask)) && !is_allowed(log, call);
    unasked.then_some("a person must be asked before")
}

/// The reason why hooks of the ceiling have not decided about a call, if they have not.
fn unseen(log: &[RecordedFact], call: CallId, ceiling: &Ceiling) -> Option<&'static str> {
    let (tool, ..) = subject(log, call, ceiling)?;
    let asked = |name: &str| {
        log.iter().any(|recorded| {
            let Fact::HookDecided(fact) = &recorded.fact else {
                return false;
            };
            let before = HookOccurrence::BeforeTool { call };
            fact.name == name && reading::place(log, fact) == Some(before)
        })
    };
    let mut hooks = ceiling.hooks.iter().filter(|it| it.matches(HookPoint::BeforeTool, tool));
    let unseen = hooks.any(|hook| !asked(&hook.name));
    unseen.then_some("a hook of this process has not seen it")
}

/// The reason why a call of an earlier process had to be decided again, if nobody did.
fn undecided(
    log: &[RecordedFact],
    started: Seq,
    fact: &CallStarted,
    since: Seq,
    losses: &[Loss],
) -> Option<&'static str> {
    let lost = losses.iter().rev().find(|loss| loss.kept < started)?;
    let earlier = fact.call.0 <= lost.kept.0 && since <= lost.kept;
    if !earlier || fact.attempt > 1 || reading::is_program(log, fact.call) {
        return None;
    }
    let mut after = log.iter().filter(|recorded| recorded.seq > lost.kept);
    let decided = after.any(|recorded| {
        matches!(&recorded.fact, Fact::CallDecided(it) if it.call == fact.call)
            || matches!(&recorded.fact, Fact::ApprovalAnswered(it) if it.call == fact.call)
    });
    (!decided).then_some("an earlier process allowed it, and nothing decided since")
}

/// The reason why a call of an earlier process had to wait for a person, if it did.
fn unheld(
    log: &[RecordedFact],
    started: Seq,
    call: CallId,
    (since, ceiling): (Seq, &Ceiling),
    losses: &[Loss],
) -> Option<&'static str> {
    let (_, turn, changes) = subject(log, call, ceiling)?;
    let lost = losses.iter().rev().find(|loss| loss.kept < started)?;
    let earlier = call.0 <= lost.kept.0 && since <= lost.kept;
    if !ceiling.hold_recovered || !changes || turn.dry_run || !earlier {
        return None;
    }
    let mut after = log.iter().filter(|recorded| recorded.seq > lost.kept);
    let allowed = after.any(|recorded| {
        matches!(&recorded.fact, Fact::ApprovalAnswered(fact)
            if fact.call == call && fact.verdict == Verdict::Allow)
    });
    (!allowed).then_some("it is of an earlier process, and nobody was asked since")
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
