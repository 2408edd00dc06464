//! Policy: what the mode and the permissions of a turn say of a call.

use alloc::string::String;

use crate::call::Verdict;
use crate::fact::{CallDecided, Decider};
use crate::session::{CallState, Turn};
use crate::settings::{EffectClass, Mode, Permissions};

/// The decision on a call. Deny beats allow.
pub(super) fn decide(turn: &Turn, call: &CallState, effect: EffectClass) -> CallDecided {
    let (verdict, reason) = verdict(turn, effect);
    CallDecided {
        call: call.id,
        verdict,
        by: Decider::Policy,
        reason: String::from(reason),
        arguments: call.arguments,
    }
}

fn verdict(turn: &Turn, effect: EffectClass) -> (Verdict, &'static str) {
    let changes = match effect {
        EffectClass::ReadOnly => return (Verdict::Allow, "the tool is read-only"),
        EffectClass::Idempotent | EffectClass::Effectful => turn.settings.permissions,
    };
    match (turn.settings.mode, changes) {
        (Mode::Plan, _) => (
            Verdict::Deny,
            "Denied: in plan mode only read-only tools run. Describe the change instead.",
        ),
        (Mode::Build, Permissions::ReadOnly) => (
            Verdict::Deny,
            "Denied: the permissions of this session are read-only.",
        ),
        (Mode::Build, Permissions::Ask) => (
            Verdict::Deny,
            "Denied: this call needs a person's approval, and nobody can be asked here.",
        ),
        (Mode::Build, Permissions::Auto) => (Verdict::Allow, "the permissions allow it"),
    }
}
