//! Settings and limits, as canonical text.

use serde_json::Value;
use windlass_core::{Limits, RequestOptions, Settings};

use super::canon::{Lines, record};

/// The limits that the first version has.
const LIMITS: &[&str] = &[
    "samples",
    "calls_per_sample",
    "calls",
    "attempts",
    "restarts",
    "parallel_calls",
    "tokens",
    "cost_micros",
    "continuations",
    "compactions",
    "context_bytes",
    "turn_ms",
    "approval_ms",
    "queue",
    "backoff_ms",
    "backoff_max_ms",
    "connect_ms",
    "first_byte_ms",
    "idle_ms",
    "sample_ms",
    "call_ms",
    "grace_ms",
];

/// Limits, each by its name.
pub(super) fn limits(limits: &Limits) -> Value {
    record(limits, LIMITS)
}

/// All that a turn is run with.
pub(super) fn lines(lines: &mut Lines, name: &str, settings: &Settings) {
    let Settings {
        provider,
        model,
        instructions,
        mode,
        permissions,
        rules,
        hooks,
        redaction,
        window,
        price,
        tools,
        limits: limited,
        max_output_tokens,
        effort,
        temperature,
        base_url,
        options,
        ..
    } = settings;
    let named = |what: &str| format!("{name}.{what}");
    lines.put(&named("provider"), provider);
    lines.put(&named("model"), model);
    lines.put(&named("instructions"), instructions);
    lines.put(&named("mode"), mode);
    lines.put(&named("permissions"), permissions);
    for (index, rule) in rules.iter().enumerate() {
        lines.put(&named(&format!("rule.{index}")), rule);
    }
    for (index, hook) in hooks.iter().enumerate() {
        lines.put(&named(&format!("hook.{index}")), hook);
    }
    lines.maybe(&named("redaction"), redaction.as_ref());
    lines.put(&named("window"), window);
    lines.maybe(&named("price"), price.as_ref());
    for (index, tool) in tools.iter().enumerate() {
        lines.put(&named(&format!("tool.{index}")), tool);
    }
    lines.put(&named("limits"), &limits(limited));
    lines.maybe(&named("max_output_tokens"), max_output_tokens.as_ref());
    lines.maybe(&named("effort"), effort.as_ref());
    lines.maybe(&named("temperature"), temperature.as_ref());
    lines.maybe(&named("base_url"), base_url.as_ref());
    let asked = *options != RequestOptions::unrecorded();
    lines.maybe(&named("options"), asked.then_some(options));
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::world::fixed;

    #[test]
    fn each_recorded_field_has_a_line() {
        let settings = fixed::settings("x");
        let mut text = Lines::default();
        lines(&mut text, "s", &settings);
        let Ok(Value::Object(fields)) = serde_json::to_value(&settings) else {
            panic!("settings are an object");
        };
        assert!(fields.len() > 10, "{fields:?}");
        for field in fields.keys() {
            let one = format!("s.{}", field.strip_suffix('s').unwrap_or(field));
            assert!(text.text().lines().any(|line| line.starts_with(&one)), "{field} has no line");
        }
    }
}
