//! Calls of scripts, as an engine takes them in: with the rules that they meet.

use windlass_core::CallItem;
use windlass_ports::arguments_sha256;

use super::declared::{asks_outside, possible_rules, rules_met};
use super::driver::World;

impl World {
    /// A call as an engine takes it in.
    pub(super) fn call_item(
        &self,
        tool: &str,
        provider_id: &str,
        fault: Option<String>,
        arguments: &str,
    ) -> CallItem {
        CallItem {
            provider_id: provider_id.to_owned(),
            name: tool.to_owned(),
            arguments: arguments.to_owned(),
            fault,
            rules: self.rules(tool, arguments),
            possible_rules: self.possible_rules(tool, arguments),
            outside_sandbox: asks_outside(arguments),
            sha256: Some(arguments_sha256(arguments)),
            opaque: None,
            inline: false,
        }
    }

    /// The call of a user's command, which is compared with the rules of the session and not with those
    /// of an open turn.
    pub(super) fn command_item(&self, tool: &str, arguments: &str) -> CallItem {
        let rules = &self.machine.session().settings.rules;
        CallItem {
            rules: rules_met(rules, tool, arguments),
            possible_rules: possible_rules(rules, tool, arguments),
            ..self.call_item(tool, "", None, arguments)
        }
    }

    pub(super) fn rules(&self, tool: &str, arguments: &str) -> Vec<u32> {
        let turn = self.machine.session().turn();
        turn.map_or_else(Vec::new, |turn| rules_met(&turn.settings.rules, tool, arguments))
    }

    pub(super) fn possible_rules(&self, tool: &str, arguments: &str) -> Vec<u32> {
        let turn = self.machine.session().turn();
        turn.map_or_else(Vec::new, |turn| possible_rules(&turn.settings.rules, tool, arguments))
    }
}
