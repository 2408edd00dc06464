//! Widening: checks if settings allow more than the settings before them.

use crate::rule::{Rule, RuleVerdict};
use crate::session::Session;
use crate::settings::{Mode, Settings, ToolSpec};

/// Describes the permissions that the new settings would add to a session. A tool that the parent
/// of a child session did not choose also counts.
pub(super) fn of(session: &Session, new: &Settings) -> Option<&'static str> {
    if !new.tools.iter().all(|tool| session.may_use_tool(tool)) {
        return Some("a tool that the session which sent this one out did not give it");
    }
    widens(&session.settings, new)
}

/// Describes the permissions that the new settings would add to the old ones.
pub(super) fn widens(old: &Settings, new: &Settings) -> Option<&'static str> {
    if old.mode == Mode::Plan && new.mode == Mode::Build {
        return Some("build mode in the place of plan mode");
    }
    if new.permissions > old.permissions {
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
    if let (Some(old), Some(new)) = (&old.options.program, &new.options.program)
        && new.limits.within(&old.limits) != new.limits
    {
        return Some("wider limits of programs");
    }
    (new.limits.within(&old.limits) != new.limits).then_some("wider limits")
}

fn changes_less(old: &Settings, tool: &ToolSpec) -> bool {
    let before = old.tool(&tool.name);
    before.is_some_and(|before| tool.effect < before.effect)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::compact::kit;
    use crate::program::{ProgramLimits, ProgramMode, ProgramTransport};
    use crate::settings::{Concurrency, EffectClass};
    use crate::usage::Price;

    #[test]
    fn whatever_would_allow_more_is_named() {
        let old = Settings {
            redaction: Some(String::from("keys")),
            tools: alloc::vec![ToolSpec {
                name: String::from("write"),
                description: String::new(),
                parameters: String::new(),
                effect: EffectClass::Effectful,
                concurrency: Concurrency::Exclusive,
                timeout_ms: None,
                reconciles: false,
                client: false,
                deferred: false,
                agent: None,
                grammar: None,
            }],
            ..kit::settings()
        };
        assert_eq!(widens(&old, &old), None);
        let mut limits = old.clone();
        limits.limits.samples += 1;
        assert_eq!(widens(&old, &limits), Some("wider limits"));
        assert_eq!(widens(&limits, &old), None);
        let mut programs = old.clone();
        programs.options.program = Some(ProgramMode {
            runtime: String::from("any"),
            transport: ProgramTransport::Call,
            limits: ProgramLimits::default(),
            data: None,
            corrections: 0,
        });
        assert_eq!(widens(&old, &programs), None);
        let mut more = programs.clone();
        if let Some(program) = &mut more.options.program {
            program.limits.calls += 1;
        }
        let named = Some("wider limits of programs");
        assert_eq!(widens(&programs, &more), named);
        assert_eq!(widens(&more, &programs), None);
        let bare = Settings { redaction: None, ..old.clone() };
        assert!(widens(&old, &bare).is_some());
        assert_eq!(widens(&bare, &old), None);
        let mut harmless = old.clone();
        for tool in &mut harmless.tools {
            tool.effect = EffectClass::ReadOnly;
        }
        assert!(widens(&old, &harmless).is_some());
        assert_eq!(widens(&harmless, &old), None);
        let planned = Settings { mode: Mode::Plan, ..old.clone() };
        let built = Some("build mode in the place of plan mode");
        assert_eq!(widens(&planned, &old), built);
        assert_eq!(widens(&planned, &planned), None);
        assert_eq!(widens(&old, &planned), None);
        let mut poor = old.clone();
        poor.limits.cost_micros = 5;
        let mut cheap = poor.clone();
        cheap.price = Some(Price {
            input_micros: 1,
            cached_input_micros: 1,
            cache_write_micros: None,
            output_micros: 1,
        });
        assert!(widens(&poor, &cheap).is_some());
        assert_eq!(widens(&poor, &poor), None);
        // Without a money limit, a price limits nothing.
        cheap.limits.cost_micros = 0;
        assert_eq!(widens(&old, &cheap), None);
    }
}
