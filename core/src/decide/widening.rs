//! Widening: whether settings would allow more than those before them.

use crate::rule::{Rule, RuleVerdict};
use crate::settings::{Mode, Permissions, Settings, ToolSpec};

/// What the new settings would allow that the old ones do not, in words.
pub(super) fn widens(old: &Settings, new: &Settings) -> Option<&'static str> {
    if old.mode == Mode::Plan && new.mode == Mode::Build {
        return Some("build mode in the place of plan mode");
    }
    if rank(new.permissions) > rank(old.permissions) {
        return Some("wider permissions");
    }
    let forbids = |rule: &&Rule| rule.verdict != RuleVerdict::Allow;
    let kept = |rule: &Rule| new.rules.contains(rule);
    if !old.rules.iter().filter(forbids).all(kept) {
        return Some("a rule that denies or asks is gone");
    }
    let known = |rule: &Rule| old.rules.contains(rule);
    if !new.rules.iter().filter(|rule| !forbids(rule)).all(known) {
        return Some("a further rule that allows");
    }
    if !old.hooks.iter().all(|hook| new.hooks.contains(hook)) {
        return Some("a hook is gone, or is another one");
    }
    if new.tools.iter().any(|tool| changes_less(old, tool)) {
        return Some("a tool that is said to change less than before");
    }
    if old.redaction.is_some() && new.redaction != old.redaction {
        return Some("what the model says is no longer rewritten, or in another way");
    }
    if old.limits.cost_micros > 0 && new.price != old.price {
        return Some("another price under a limit of money");
    }
    (new.limits.within(&old.limits) != new.limits).then_some("wider limits")
}

fn changes_less(old: &Settings, tool: &ToolSpec) -> bool {
    let before = old.tool(&tool.name);
    before.is_some_and(|before| tool.effect < before.effect)
}

fn rank(permissions: Permissions) -> u8 {
    match permissions {
        Permissions::ReadOnly => 0,
        Permissions::Ask => 1,
        Permissions::Auto => 2,
    }
}
