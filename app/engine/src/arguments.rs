//! Arguments: validates a model's arguments against the tool's JSON Schema before they become a
//! fact. The last answer is validated in [`output_schema`](crate::output_schema).

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_core::{
    AgentSpec, CallItem, Edit, EffectClass, Rule, RuleVerdict, Settings, ToolSpec, program_tool,
};
use windlass_ports::arguments_sha256;
use windlass_ports::json::duplicate_key;
use windlass_ports::{ArgumentPath, ToolCall, ToolExecutor};

use crate::json_schema::{JsonSchema, SchemaFault};
use crate::output_schema::OutputValidator;
use crate::rules::{ComparedCall, MatchedRules, TextFormat, TextFormats};
use crate::{program, rules};

/// Most violations that one message names.
const MAX_VIOLATIONS: usize = 3;
/// Longest description of a violation, in characters.
const MAX_VIOLATION_CHARS: usize = 300;

/// Compiled settings of a session, and where its paths lead. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Checker {
    compiled: Arc<CompiledSettings>,
    workspace: Option<Arc<str>>,
    /// Executor that tells where paths lead.
    executor: Option<Arc<dyn ToolExecutor>>,
}

/// Compiled schemas of one set of tools, and of the answer if the settings have an output schema.
struct CompiledSettings {
    settings: Arc<Settings>,
    tools: HashMap<String, JsonSchema>,
    formats: HashMap<String, TextFormats>,
    /// Arguments that ask to run outside of the sandbox, by tool.
    outside: HashMap<String, String>,
    answer: Option<OutputValidator>,
}

/// Checks that the engine can compare arguments with a tool's schema. Settings with a tool for which it
/// cannot are refused, so a tool that somebody else describes is checked before it is offered.
///
/// # Errors
/// The reason, in words.
pub fn check_parameters(tool: &ToolSpec) -> Result<(), String> {
    let schema = serde_json::from_str(&tool.parameters).map_err(|error| error.to_string())?;
    JsonSchema::compile(schema).map(drop)
}

impl Checker {
    /// Compiles the schemas of all tools and of the answer. A remote reference is an error, since
    /// nothing is fetched. Patterns run in linear time, since they match text that a model wrote.
    pub(crate) fn new(settings: &Arc<Settings>) -> Result<Self, String> {
        if let Some(why) = program::unsupported(settings) {
            return Err(why);
        }
        let program = settings.options.program.as_ref();
        let program = program.map(|program| program_tool(&program.runtime));
        let (mut tools, mut formats) = (HashMap::new(), HashMap::new());
        let mut outside = HashMap::new();
        for tool in settings.tools.iter().chain(&program) {
            let broken = |why: String| format!("the JSON Schema of tool {}: {why}", tool.name);
            let schema: Value = serde_json::from_str(&tool.parameters)
                .map_err(|error| broken(error.to_string()))?;
            if tool.client && (tool.agent.is_some() || tool.reconciles) {
                return Err(format!(
                    "the tool {}: a client runs no agent, and is not asked what \
                                    became of a call",
                    tool.name
                ));
            }
            if let Some(agent) = &tool.agent {
                check_agent_tool(agent, tool, &schema, settings)
                    .map_err(|why| format!("the agent {}: {why}", tool.name))?;
            }
            if let Some(grammar) = &tool.grammar
                && !takes_text(&schema, &grammar.argument)
            {
                return Err(format!(
                    "the tool {}: its schema must require the string {:?} of its grammar and \
                     nothing else",
                    tool.name, grammar.argument
                ));
            }
            formats.insert(tool.name.clone(), rules::text_formats(&schema));
            outside.extend(outside_argument(&schema).map(|name| (tool.name.clone(), name)));
            let compiled = JsonSchema::compile(schema).map_err(broken)?;
            if tools.insert(tool.name.clone(), compiled).is_some() {
                return Err(format!("two tools are named {}", tool.name));
            }
        }
        let answer = settings.options.output_schema.as_ref();
        let compiled = CompiledSettings {
            settings: settings.clone(),
            tools,
            formats,
            outside,
            answer: answer.map(OutputValidator::new).transpose()?,
        };
        Ok(Self { compiled: Arc::new(compiled), workspace: None, executor: None })
    }

    /// Compares paths in this workspace, as the executor of its tools finds them.
    pub(crate) fn in_workspace(
        self,
        workspace: Option<&Arc<str>>,
        executor: &Arc<dyn ToolExecutor>,
    ) -> Self {
        Self { workspace: workspace.cloned(), executor: Some(executor.clone()), ..self }
    }

    /// Returns true if this checker was compiled for these settings.
    pub(crate) fn is_for(&self, settings: &Arc<Settings>) -> bool {
        Arc::ptr_eq(&self.compiled.settings, settings) || self.compiled.settings == *settings
    }

    /// Describes the faults of a call's arguments for the model. Returns `None` if they are valid,
    /// or if the tool is unknown, which the core reports itself.
    pub(crate) fn fault(&self, tool: &str, arguments: &str) -> Option<String> {
        let schema = self.compiled.tools.get(tool)?;
        let value: Value = match serde_json::from_str(arguments) {
            Ok(value) => value,
            Err(error) => return Some(format!("They are not JSON: {error}.")),
        };
        if let Some(key) = duplicate_key(arguments) {
            let key: String = key.chars().take(MAX_VIOLATION_CHARS).collect();
            return Some(format!("They can be read in two ways: the key {key:?} appears twice."));
        }
        let mut faults = Vec::new();
        for SchemaFault { place, words } in schema.faults(&value, MAX_VIOLATIONS) {
            let words: String = words.chars().take(MAX_VIOLATION_CHARS).collect();
            let place = if place.is_empty() { "the arguments".to_owned() } else { place };
            faults.push(format!("{place}: {words}"));
        }
        if faults.is_empty() {
            return None;
        }
        Some(format!("They do not fit the tool's schema: {}.", faults.join("; ")))
    }
}

/// Returns the argument by which a tool is asked to run outside of the sandbox, if it has one.
pub(crate) fn outside_argument(schema: &Value) -> Option<String> {
    let mut arguments = schema.get("properties")?.as_object()?.iter();
    let found = arguments.find(|(_, argument)| {
        let (format, kind) = (argument.get("format"), argument.get("type"));
        format == Some(&Value::from("outside_sandbox")) && kind == Some(&Value::from("boolean"))
    });
    found.map(|(name, _)| name.clone())
}

/// Returns true if a schema needs this one argument, a text.
fn takes_text(schema: &Value, argument: &str) -> bool {
    let kind = schema.get("properties").and_then(|arguments| arguments.get(argument)?.get("type"));
    kind == Some(&Value::from("string"))
        && schema.get("required") == Some(&Value::from(vec![argument]))
}

/// Returns true if a tool can be an agent.
fn check_agent_tool(
    agent: &AgentSpec,
    tool: &ToolSpec,
    schema: &Value,
    settings: &Settings,
) -> Result<(), &'static str> {
    let text = schema.pointer("/properties/prompt/type") == Some(&Value::from("string"));
    let needed = schema.get("required").and_then(Value::as_array);
    if !text || !needed.is_some_and(|names| names.contains(&Value::from("prompt"))) {
        return Err("its parameters need a string `prompt`, and require it");
    }
    if agent.samples == 0 {
        return Err("it is lent no sample: let `samples` be 1 at least");
    }
    if tool.reconciles {
        return Err("it is found again by itself: leave `reconciles` out");
    }
    let changes = |name: &String| {
        let tool = settings.tool(name);
        tool.is_some_and(|tool| tool.effect != EffectClass::ReadOnly)
    };
    match tool.effect {
        EffectClass::Effectful => Err("it may be taken up again: let its effect be `idempotent`"),
        EffectClass::ReadOnly if agent.tools.iter().any(changes) => {
            Err("one of its tools changes something, so its effect is `idempotent`")
        }
        EffectClass::ReadOnly | EffectClass::Idempotent => Ok(()),
    }
}

impl Checker {
    /// Returns the validator of the last answer, if the settings have an output schema.
    pub(crate) fn answer(&self) -> Option<&OutputValidator> {
        self.compiled.answer.as_ref()
    }

    /// Returns the indexes of the settings' rules that match a call.
    pub(crate) fn rules(&self, tool: &str, arguments: &str) -> MatchedRules {
        let paths = match self.compares_paths(tool) {
            true => self.paths(tool, arguments),
            false => Vec::new(),
        };
        self.compared(&self.compiled.settings.rules, tool, arguments, &paths)
    }

    /// Returns the indexes of other rules that match a call.
    pub(crate) fn matched(&self, rules: &[Rule], tool: &str, arguments: &str) -> MatchedRules {
        self.compared(rules, tool, arguments, &self.paths(tool, arguments))
    }

    /// Returns the rules of the settings that allow calls.
    pub(crate) fn allowing_rules(&self) -> impl Iterator<Item = Rule> {
        let rules = self.compiled.settings.rules.iter();
        rules.filter(|rule| rule.verdict == RuleVerdict::Allow).cloned()
    }

    fn compared(
        &self,
        rules: &[Rule],
        tool: &str,
        arguments: &str,
        paths: &[ArgumentPath],
    ) -> MatchedRules {
        let call = ComparedCall {
            paths,
            tool,
            arguments,
            formats: self.compiled.formats.get(tool),
            workspace: self.workspace.as_deref(),
        };
        rules::matching_rules(rules, &call)
    }

    /// Returns where the paths of a call lead, as its tool tells.
    fn paths(&self, tool: &str, arguments: &str) -> Vec<ArgumentPath> {
        match &self.executor {
            Some(executor) => {
                executor.paths(&ToolCall { name: tool.to_owned(), arguments: arguments.to_owned() })
            }
            None => Vec::new(),
        }
    }

    /// Returns true if rules may be about paths of this tool's calls.
    pub(crate) fn compares_paths(&self, tool: &str) -> bool {
        let formats = self.compiled.formats.get(tool);
        !self.compiled.settings.rules.is_empty()
            && formats.is_some_and(|formats| formats.values().any(|it| it.has_paths()))
    }

    /// Returns true if the arguments of a call ask to run outside of the sandbox: its tool's schema has
    /// an argument of this format, and it is true.
    pub(crate) fn asks_outside(&self, tool: &str, arguments: &str) -> bool {
        let Some(name) = self.compiled.outside.get(tool) else {
            return false;
        };
        let given: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
        given.is_some_and(|given| given.get(name) == Some(&Value::Bool(true)))
    }

    /// Returns the call of a user's command line: of the first tool of the executor whose schema has an
    /// argument of the format `shell`.
    pub(crate) fn command(&self, command: &str) -> Option<CallItem> {
        let mut tools = self.compiled.settings.tools.iter();
        let (tool, argument) = tools.find_map(|tool| {
            let runs = !tool.client && tool.agent.is_none();
            let formats = self.compiled.formats.get(&tool.name).filter(|_| runs)?;
            let (name, _) = formats.iter().find(|(_, format)| **format == TextFormat::Shell)?;
            Some((tool, name.clone()))
        })?;
        let arguments = Map::from_iter([(argument, Value::from(command))]);
        let edit = self.edit(&tool.name, Value::Object(arguments).to_string().into());
        Some(CallItem {
            provider_id: String::new(),
            name: tool.name.clone(),
            arguments: edit.text.to_string(),
            fault: edit.fault,
            rules: edit.rules,
            possible_rules: edit.possible_rules,
            outside_sandbox: edit.outside_sandbox,
            sha256: edit.sha256,
            opaque: None,
            inline: false,
        })
    }

    /// Validates arguments that replace a model's.
    pub(crate) fn edit(&self, tool: &str, arguments: Arc<str>) -> Edit {
        let matched = self.rules(tool, &arguments);
        Edit {
            fault: self.fault(tool, &arguments),
            rules: matched.certain,
            possible_rules: matched.possible,
            outside_sandbox: self.asks_outside(tool, &arguments),
            sha256: Some(arguments_sha256(&arguments)),
            text: arguments,
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{EffectClass, Permissions, Settings, ToolGrammar, ToolSpec};

    use super::*;

    fn settings(parameters: &str) -> Arc<Settings> {
        Arc::new(Settings::new("p", "m").with(|it| {
            it.permissions = Permissions::Auto;
            it.tools = vec![
                ToolSpec::new("t", EffectClass::ReadOnly)
                    .with(|it| it.parameters = parameters.into()),
            ];
        }))
    }

    #[test]
    fn names_what_does_not_fit() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},
            "required":["n"],"additionalProperties":false}"#;
        let checker = Checker::new(&settings(schema)).unwrap();
        assert_eq!(checker.fault("t", r#"{"n":1}"#), None);
        assert_eq!(checker.fault("other", "nonsense"), None);
        let not_json = checker.fault("t", "{n:").unwrap();
        assert!(not_json.starts_with("They are not JSON"), "{not_json}");
        let missing = checker.fault("t", "{}").unwrap();
        assert!(missing.contains("\"n\" is a required property"), "{missing}");
        let wrong = checker.fault("t", r#"{"n":"x"}"#).unwrap();
        assert!(wrong.contains("/n"), "{wrong}");
    }

    #[test]
    fn a_key_that_is_there_twice_is_a_fault_whatever_the_schema_says() {
        let checker = Checker::new(&settings("{}")).unwrap();
        let fault = checker.fault("t", r#"{"a":[{"env":1,"\u0065nv":1}]}"#);
        let words = r#"They can be read in two ways: the key "env" appears twice."#;
        assert_eq!(fault.as_deref(), Some(words));
        let edit = checker.edit("t", r#"{"env":1,"env":2}"#.into());
        assert_eq!(edit.fault.as_deref(), Some(words));
        let long = "x".repeat(5_000);
        let fault = checker.fault("t", &format!(r#"{{"{long}":1,"{long}":1}}"#));
        assert!(fault.unwrap().len() < 400);
    }

    #[test]
    fn refuses_a_grammar_of_another_argument_than_the_only_one() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
            "required":["a"]}"#;
        let with = |argument: &str| {
            let grammar = ToolGrammar { argument: argument.into(), definition: String::new() };
            let settings = Settings::clone(&settings(schema)).with(|it| {
                it.tools.iter_mut().for_each(|it| it.grammar = Some(Box::new(grammar.clone())));
            });
            Checker::new(&Arc::new(settings)).is_ok()
        };
        assert!(with("a") && !with("b") && !with("c"));
    }

    #[test]
    fn refuses_schemas_that_do_not_compile_or_point_elsewhere() {
        for bad in ["{", r#"{"type":"nonsense"}"#, r#"{"$ref":"https://example.com/s.json"}"#] {
            assert!(Checker::new(&settings(bad)).is_err(), "{bad}");
        }
    }
}
