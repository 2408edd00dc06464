//! Policy: the verdict of mode, permissions, rules and hooks on a call.

use alloc::string::String;

use super::{Verdict, denial};
use crate::fact::{CallDecided, Decider};
use crate::hook_rounds::CombinedVerdict;
use crate::hook_rounds::hooks;
use crate::rule::RuleVerdict;
use crate::session::{CallState, Turn};
use crate::settings::{EffectClass, Mode, Permissions, Settings};

/// Reason to ask about a call that a rule may deny.
const POSSIBLY_DENIED: &str = "a rule that denies may match: what runs cannot be told for certain";

/// Reason to ask about a call that asks to run outside of the sandbox.
const OUTSIDE: &str = "it would run outside of the sandbox, and a person decides";

/// Returns the decision on a call. Deny beats ask, ask beats allow, and nothing widens what the
/// mode and the permissions forbid.
pub(super) fn decide(
    turn: &Turn,
    call: &CallState,
    effect: EffectClass,
    word: &CombinedVerdict,
) -> CallDecided {
    let verdict = match verdict(turn, call, effect, word) {
        // Whoever makes a call allows it.
        (Verdict::Ask, ..) if call.command.is_some() => {
            (Verdict::Allow, Decider::Policy, String::from("the user runs it"))
        }
        other => other,
    };
    let (verdict, by, reason) = match verdict {
        (Verdict::Allow, ..) if call.held => {
            let reason = String::from("an earlier process left it, and a person decides now");
            (Verdict::Ask, Decider::Policy, reason)
        }
        (Verdict::Allow, ..) if call.outside_sandbox.is_some() => {
            (Verdict::Ask, Decider::Policy, String::from(OUTSIDE))
        }
        other => other,
    };
    CallDecided { call: call.id, verdict, by, reason, arguments: call.arguments_digest() }
}

/// Returns the decision on a call that needs approval, after hooks have replied.
pub(super) fn before_asking(call: &CallState, word: &CombinedVerdict) -> Option<CallDecided> {
    let (verdict, by, reason) = match word {
        CombinedVerdict::Deny { .. } => (Verdict::Deny, Decider::Hook, hooks::call_denial(word)?),
        // The arguments may have been edited.
        CombinedVerdict::Allow
            if call.rule_verdict != Some(RuleVerdict::Deny) && !call.needs_person() =>
        {
            (Verdict::Allow, Decider::Hook, String::from("a hook allows it"))
        }
        CombinedVerdict::Pass | CombinedVerdict::Ask | CombinedVerdict::Allow
            if call.rule_verdict == Some(RuleVerdict::Deny) =>
        {
            (Verdict::Deny, Decider::Rule, String::from(denial::BY_RULE))
        }
        CombinedVerdict::Pass | CombinedVerdict::Ask | CombinedVerdict::Allow => return None,
    };
    Some(CallDecided { call: call.id, verdict, by, reason, arguments: call.arguments_digest() })
}

fn verdict(
    turn: &Turn,
    call: &CallState,
    effect: EffectClass,
    word: &CombinedVerdict,
) -> (Verdict, Decider, String) {
    let permissions = turn.settings.permissions;
    let (mine, why) = match &call.command {
        None => mode_verdict(&turn.settings, effect),
        Some(_) => match command_denial(permissions, effect) {
            Some(why) => (Verdict::Deny, why),
            None => (Verdict::Allow, "the user runs it"),
        },
    };
    let deny = |by, reason: &str| (Verdict::Deny, by, String::from(reason));
    if mine == Verdict::Deny {
        return deny(Decider::Policy, why);
    }
    if call.rule_verdict == Some(RuleVerdict::Deny) {
        return deny(Decider::Rule, denial::BY_RULE);
    }
    if let Some(reason) = hooks::call_denial(word) {
        return deny(Decider::Hook, &reason);
    }
    match (call.rule_verdict, word) {
        (Some(RuleVerdict::Ask), _) if call.possibly_denied => {
            (Verdict::Ask, Decider::Rule, String::from(POSSIBLY_DENIED))
        }
        (Some(RuleVerdict::Ask), _) => {
            (Verdict::Ask, Decider::Rule, String::from("a rule asks first"))
        }
        (_, CombinedVerdict::Ask) => {
            (Verdict::Ask, Decider::Hook, String::from("a hook asks first"))
        }
        (Some(RuleVerdict::Allow), _) => {
            (Verdict::Allow, Decider::Rule, String::from("a rule allows it"))
        }
        (_, CombinedVerdict::Allow) => {
            (Verdict::Allow, Decider::Hook, String::from("a hook allows it"))
        }
        (None | Some(RuleVerdict::Deny), CombinedVerdict::Pass | CombinedVerdict::Deny { .. }) => {
            (mine, Decider::Policy, String::from(why))
        }
    }
}

/// Returns the verdict on a call with these rules, as far as no hook speaks.
pub(crate) fn permitted(
    settings: &Settings,
    effect: EffectClass,
    rule: Option<RuleVerdict>,
) -> Verdict {
    match (mode_verdict(settings, effect).0, rule) {
        (Verdict::Deny, _) | (_, Some(RuleVerdict::Deny)) => Verdict::Deny,
        (_, Some(RuleVerdict::Ask)) => Verdict::Ask,
        (_, Some(RuleVerdict::Allow)) => Verdict::Allow,
        (mine, None) => mine,
    }
}

/// Returns the denial of a user's command by the permissions, if they deny it. The mode limits the
/// model alone.
pub(crate) fn command_denial(
    permissions: Permissions,
    effect: EffectClass,
) -> Option<&'static str> {
    let denies = permissions == Permissions::ReadOnly && effect != EffectClass::ReadOnly;
    denies.then_some(denial::READ_ONLY)
}

/// Returns the verdict of the mode and the permissions.
pub(crate) fn mode_verdict(settings: &Settings, effect: EffectClass) -> (Verdict, &'static str) {
    let permissions = match effect {
        EffectClass::ReadOnly => return (Verdict::Allow, "the tool is read-only"),
        EffectClass::Idempotent | EffectClass::Effectful => settings.permissions,
    };
    match (settings.mode, permissions) {
        (Mode::Plan, Permissions::Auto | Permissions::Ask | Permissions::ReadOnly) => {
            (Verdict::Deny, denial::IN_PLAN_MODE)
        }
        (Mode::Build, Permissions::ReadOnly) => (Verdict::Deny, denial::READ_ONLY),
        (Mode::Build, Permissions::Ask) => (Verdict::Ask, "the permissions ask first"),
        (Mode::Build, Permissions::Auto) => (Verdict::Allow, "the permissions allow it"),
    }
}
