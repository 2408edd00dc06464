//! Denials: the reasons of denied calls, as the log and the model have them.
//!
//! A reason that a person or a hook gives may tell the model what to do. The others need advice, which
//! only the observation has.

use alloc::format;
use alloc::string::String;

/// Denial by a rule.
pub(super) const BY_RULE: &str = "Denied by a rule of the user, which forbids this call.";
/// Denial of an edit by a rule.
pub(super) const EDIT_BY_RULE: &str = "Denied: a rule forbids the arguments that the answer gives.";
/// Denial of an edit that would take the call out of the sandbox.
pub(super) const EDIT_OUTSIDE: &str =
    "Denied: the question was about a call in the sandbox, and the answer would take it out.";
/// Denial in plan mode.
pub(super) const IN_PLAN_MODE: &str =
    "Denied: in plan mode only read-only tools run. Describe the change instead.";
/// Denial by the permissions.
pub(super) const READ_ONLY: &str = "Denied: the permissions of this session are read-only.";
/// Denial of a call whose question has no answer by the deadline.
pub(super) const LATE: &str = "Denied: nobody answered in time.";
/// Denial by an answer that does not count.
pub(super) const FROM_OUTSIDE: &str = "Denied: the answer came from outside the session's tenant.";
/// Denial by an approval grant that may not answer.
pub(super) const NOT_GRANTED: &str = "Denied: no approval grant covers this call.";

/// Beginning of a person's denial.
const BY_PERSON: &str = "Denied by a person: ";
/// Denial of a person without a reason.
const BY_SILENT_PERSON: &str = "Denied by a person, who gave no reason.";
/// Denial of a hook without a reason.
const BY_SILENT_HOOK: &str = "Denied by a hook, which gave no reason.";

/// Advice for the model after a denial that has none.
const ADVICE: &str = "Do not try it again, in this form or another. Go on without it, and say in your \
                      answer what you left out.";

/// Returns the reason of a call that hooks deny.
pub(crate) fn by_hook(reason: &str) -> String {
    match reason.trim().is_empty() {
        true => String::from(BY_SILENT_HOOK),
        false => format!("Denied by a hook: {reason}"),
    }
}

/// Returns the result of a call that a person denied, for the model. Older logs have these words in the
/// reason.
pub(super) fn by_person(reason: &str) -> String {
    match reason.trim() {
        "" => result(BY_SILENT_PERSON),
        _ if reason.starts_with("Denied by a person") => result(reason),
        _ => format!("{BY_PERSON}{reason}"),
    }
}

/// Returns the result of a denied call, for the model: that it is a denial, and what to do.
pub(super) fn result(reason: &str) -> String {
    let bare = [
        BY_RULE,
        EDIT_BY_RULE,
        READ_ONLY,
        LATE,
        FROM_OUTSIDE,
        NOT_GRANTED,
        EDIT_OUTSIDE,
        BY_SILENT_PERSON,
    ];
    if bare.contains(&reason) || reason == BY_SILENT_HOOK {
        return format!("{reason} {ADVICE}");
    }
    match reason.starts_with("Denied") {
        true => String::from(reason),
        false => format!("Denied: {reason}"),
    }
}
