//! Hooks, rules, windows and prices of a simulated session, in words that a script can spell.
//!
//! A hook is `POINT[:parallel][:open][@SUBJECT+SUBJECT]`, a rule is `VERDICT:TOOL[(NAME=PATTERN)]`;
//! several of them are parted by commas. Hooks are named `h0`, `h1` and so on, by their place.

use serde_json::Value;
use windlass_core::machine::{Machine, MachineEvent};
use windlass_core::{
    ArgumentPattern, CallRules, EffectKey, HookFailurePolicy, HookOrder, HookPoint, HookSpec,
    Observation, Price, Rule, RuleVerdict, SEARCH_TOOLS_TOOL, Usage,
};

use super::words::{spell, word};

/// What a summary takes.
pub(super) const SUMMARY_USAGE: Usage = Usage {
    input: Some(70),
    output: Some(7),
    total: None,
    cached_input: None,
    cache_write: None,
    reasoning_output: None,
};

/// A declared hook, named by its place.
#[must_use]
pub fn hook(
    place: usize,
    point: HookPoint,
    order: HookOrder,
    on_failure: HookFailurePolicy,
    only: Option<Vec<String>>,
) -> HookSpec {
    HookSpec::new(format!("h{place}"), point, 1_000).with(|it| {
        it.only = only;
        it.order = order;
        it.on_failure = on_failure;
    })
}

/// Reads hooks.
pub(super) fn read_hooks(text: &str) -> Result<Vec<HookSpec>, String> {
    let words = text.split(',').enumerate();
    words.map(|(place, text)| read_hook(place, text)).collect()
}

fn read_hook(place: usize, text: &str) -> Result<HookSpec, String> {
    let (text, only) = match text.split_once('@') {
        None => (text, None),
        Some((text, only)) => {
            let subjects = only.split('+').map(String::from).collect();
            (text, Some(subjects))
        }
    };
    let mut words = text.split(':');
    let point: HookPoint = word(words.next().unwrap_or_default())?;
    let (mut order, mut on_failure) = (HookOrder::Sequential, HookFailurePolicy::Closed);
    for text in words {
        match text {
            "parallel" => order = HookOrder::Parallel,
            "open" => on_failure = HookFailurePolicy::Open,
            other => return Err(format!("{other} is not parallel or open")),
        }
    }
    Ok(hook(place, point, order, on_failure, only))
}

/// Spells hooks.
pub(super) fn spell_hooks(hooks: &[HookSpec]) -> String {
    let words: Vec<String> = hooks.iter().map(spell_hook).collect();
    words.join(",")
}

fn spell_hook(hook: &HookSpec) -> String {
    let order = match hook.order {
        HookOrder::Sequential => "",
        HookOrder::Parallel => ":parallel",
    };
    let on_failure = match hook.on_failure {
        HookFailurePolicy::Closed => "",
        HookFailurePolicy::Open => ":open",
    };
    let only = hook.only.as_ref();
    let only = only.map(|subjects| format!("@{}", subjects.join("+")));
    let point = spell(&hook.point);
    format!("{point}{order}{on_failure}{}", only.unwrap_or_default())
}

/// Reads rules.
pub(super) fn read_rules(text: &str) -> Result<Vec<Rule>, String> {
    text.split(',').map(read_rule).collect()
}

fn read_rule(text: &str) -> Result<Rule, String> {
    let (verdict, text) =
        text.split_once(':').ok_or_else(|| format!("{text} is not VERDICT:TOOL"))?;
    let verdict: RuleVerdict = word(verdict)?;
    let (tool, argument) = match text.split_once('(') {
        None => (text, None),
        Some((tool, argument)) => {
            let inner = argument.strip_suffix(')').unwrap_or(argument);
            let (name, pattern) =
                inner.split_once('=').ok_or_else(|| format!("{inner} is not NAME=PATTERN"))?;
            let argument = ArgumentPattern { name: name.to_owned(), pattern: pattern.to_owned() };
            (tool, Some(argument))
        }
    };
    Ok(Rule { verdict, tool: tool.to_owned(), argument })
}

/// Spells rules.
pub(super) fn spell_rules(rules: &[Rule]) -> String {
    let words: Vec<String> = rules.iter().map(spell_rule).collect();
    words.join(",")
}

fn spell_rule(rule: &Rule) -> String {
    let verdict = spell(&rule.verdict);
    let argument = rule.argument.as_ref();
    let argument = argument.map(|argument| format!("({}={})", argument.name, argument.pattern));
    format!("{verdict}:{}{}", rule.tool, argument.unwrap_or_default())
}

/// Reads a price, `INPUT/CACHED/OUTPUT`.
pub(super) fn read_price(text: &str) -> Result<Price, String> {
    let parts: Result<Vec<u64>, _> = text.split('/').map(str::parse).collect();
    match parts.map_err(|error| format!("{text}: {error}"))?[..] {
        [input_micros, cached_input_micros, output_micros] => {
            Ok(Price { input_micros, cached_input_micros, cache_write_micros: None, output_micros })
        }
        _ => Err(format!("{text} is not INPUT/CACHED/OUTPUT")),
    }
}

/// Spells a price.
pub(super) fn spell_price(price: &Price) -> String {
    format!("{}/{}/{}", price.input_micros, price.cached_input_micros, price.output_micros)
}

/// The rules that a call meets, by their place, as whoever checks its arguments finds them.
#[must_use]
pub fn rules_met(rules: &[Rule], tool: &str, arguments: &str) -> Vec<u32> {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let meets = |rule: &Rule| {
        let argument = rule.argument.as_ref();
        matches(&rule.tool, tool) && argument.is_none_or(|wanted| is_like(wanted, &arguments))
    };
    let places = (0_u32..).zip(rules).filter(|(_, rule)| meets(rule));
    places.map(|(place, _)| place).collect()
}

/// Whether the arguments of a scripted call ask to run outside of the sandbox.
pub(super) fn asks_outside(arguments: &str) -> bool {
    arguments.contains(r#""outside":true"#)
}

/// The rules that deny and that a call may meet or not, by their place: those about an argument
/// with a text that a shell expands.
pub(super) fn possible_rules(rules: &[Rule], tool: &str, arguments: &str) -> Vec<u32> {
    let met = rules_met(rules, tool, arguments);
    let read: Value = serde_json::from_str(arguments).unwrap_or_default();
    let expands = |rule: &Rule| {
        let name = rule.argument.as_ref().map(|wanted| &wanted.name);
        let text = name.and_then(|name| read.get(name)).and_then(Value::as_str);
        text.is_some_and(|text| text.contains('$'))
    };
    let denies = |rule: &Rule| rule.verdict == RuleVerdict::Deny && matches(&rule.tool, tool);
    let places = (0_u32..).zip(rules).filter(|(_, rule)| denies(rule) && expands(rule));
    places.map(|(place, _)| place).filter(|place| !met.contains(place)).collect()
}

/// Compares the calls that a new process or another ceiling finds with the rules.
pub(super) fn match_rules(machine: &Machine, event: &mut MachineEvent) {
    let (pending, matched) = if let MachineEvent::Recovered { matched } = event {
        (machine.calls_to_match(None), matched)
    } else if let MachineEvent::Ceiling { ceiling, matched } = event {
        (machine.calls_to_match(Some(ceiling)), matched)
    } else {
        return;
    };
    let Some(pending) = pending else {
        return;
    };
    let history = machine.history();
    matched.extend(pending.calls.into_iter().filter_map(|call| {
        let (tool, arguments) = (&history.call(call)?.name, history.arguments(call)?);
        let all = &pending.settings.rules;
        let possible_rules = possible_rules(all, tool, &arguments);
        Some(CallRules { call, rules: rules_met(all, tool, &arguments), possible_rules })
    }));
}

/// The result of a call, which offers all deferred tools if the call searches for them.
pub(super) fn searched(machine: &Machine, key: EffectKey, observation: Observation) -> Observation {
    let EffectKey::Call { call, .. } = key else { return observation };
    let searches = machine.history().call(call).is_some_and(|it| it.name == SEARCH_TOOLS_TOOL);
    let turn = machine.session().turn().filter(|_| searches);
    let tools = turn.map_or(&[][..], |turn| &turn.settings.tools);
    let deferred = tools.iter().filter(|tool| tool.deferred);
    Observation { offers: deferred.map(|tool| tool.name.clone()).collect(), ..observation }
}

fn is_like(wanted: &ArgumentPattern, arguments: &Value) -> bool {
    match arguments.get(&wanted.name) {
        None => false,
        Some(Value::String(text)) => matches(&wanted.pattern, text),
        Some(other) => matches(&wanted.pattern, &other.to_string()),
    }
}

/// Returns true if a text is like a pattern in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.filter_map(|at| text.get(at..)).any(|text| matches(rest, text))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_is_read() {
        for text in ["before_tool", "stop:parallel:open", "after_tool:open@a+b,stop"] {
            assert_eq!(spell_hooks(&read_hooks(text).unwrap()), text);
        }
        for text in ["deny:shell", "ask:*,allow:read(path=src/*)"] {
            assert_eq!(spell_rules(&read_rules(text).unwrap()), text);
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text) in [("*", ""), ("a*", "abc"), ("*c", "abc"), ("a*b*c", "aXbYbZc")] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", "ab"), ("a*b", "abc"), ("*b*c", "ac")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_rule_is_met_by_tool_and_by_argument() {
        let rules = read_rules("deny:sh*(command=rm*),ask:*,allow:write(n=1)").unwrap();
        let met = |tool, arguments| rules_met(&rules, tool, arguments);
        assert_eq!(met("shell", r#"{"command":"rm -r a"}"#), [0, 1]);
        assert_eq!(met("shell", r#"{"command":"ls"}"#), [1]);
        assert_eq!(met("write", r#"{"n":1}"#), [1, 2]);
    }
}
