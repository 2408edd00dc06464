//! Rules that the command adds to a session. A rule that can never match is rejected, since its
//! calls would be unprotected without notice.

use serde_json::Value;
use windlass_engine::core::{ArgumentPattern, Rule, RuleVerdict, ToolSpec};

use crate::args::SettingsArgs;
use crate::config::nearest;
use crate::exit::Failure;
use crate::present::print_notice;

/// Adds the command's rules to those of a session.
pub(super) fn add(
    rules: &mut Vec<Rule>,
    shape: &SettingsArgs,
    tools: &[ToolSpec],
) -> Result<(), Failure> {
    if shape.no_rules {
        rules.clear();
    }
    let said = [
        (&shape.deny, RuleVerdict::Deny),
        (&shape.ask, RuleVerdict::Ask),
        (&shape.allow, RuleVerdict::Allow),
    ];
    for (patterns, verdict) in said {
        for pattern in patterns {
            let rule = pattern.rule(verdict);
            let is_there = tools.iter().any(|tool| tool.name == rule.tool);
            if is_there || !shape.usual.rules().contains(&rule) {
                check(&rule, tools)?;
            }
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    Ok(())
}

/// Warns of rules of the configuration that seem to misspell a tool. They may name tools that other
/// sessions have.
pub(super) fn warn_of_misspelt(rules: &[Rule], tools: &[ToolSpec]) {
    for rule in rules.iter().filter(|rule| !rule.tool.contains('*')) {
        let names = tools.iter().map(|tool| tool.name.as_str());
        if let Some(name) = nearest(&rule.tool, names).filter(|name| *name != rule.tool) {
            let tool = &rule.tool;
            print_notice(&format!("warning: a rule names {tool}, which is no tool; is it {name}?"));
        }
    }
}

/// Checks that a rule names a tool. A name with a star may refer to future tools.
fn check(rule: &Rule, tools: &[ToolSpec]) -> Result<(), Failure> {
    if rule.tool.contains('*') {
        return Ok(());
    }
    let Some(tool) = tools.iter().find(|tool| tool.name == rule.tool) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(Failure::usage(format!(
            "a rule names the unknown tool {}: there are {}",
            rule.tool,
            names.join(", ")
        )));
    };
    match &rule.argument {
        Some(argument) => check_argument(argument, tool),
        None => Ok(()),
    }
}

fn check_argument(argument: &ArgumentPattern, tool: &ToolSpec) -> Result<(), Failure> {
    let schema: Value = serde_json::from_str(&tool.parameters).unwrap_or_default();
    let closed = schema["additionalProperties"] == false;
    match schema["properties"].as_object() {
        Some(known) if closed && !known.contains_key(&argument.name) => {
            let mut names: Vec<&str> = known.keys().map(String::as_str).collect();
            // A patch has the paths of its files.
            if known.values().any(|argument| argument["format"] == "patch") {
                names.push("path");
            }
            if names.contains(&argument.name.as_str()) {
                return Ok(());
            }
            Err(Failure::usage(format!(
                "a rule names the argument {} of {}, which has {}",
                argument.name,
                tool.name,
                names.join(", ")
            )))
        }
        Some(_) | None => Ok(()),
    }
}
