//! Catalogue: the tools of a server as they are offered, made from the list that it sends.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use windlass_core::{EffectClass, ToolSpec};

use crate::config::McpServer;
use crate::excerpt::clipped;
use crate::name::{ServerName, tool_name};

/// Most tools of one server.
pub(crate) const MAX_TOOLS: usize = 512;
/// Most bytes of a tool's description; the rest is cut.
const MAX_DESCRIPTION: usize = 8 * 1024;
/// Most bytes of a tool's schema. A tool with a longer one is not offered.
const MAX_SCHEMA: usize = 64 * 1024;

/// Refuses a tool that its user cannot have, in words.
pub(crate) type CheckTool = Arc<dyn Fn(&ToolSpec) -> Result<(), String> + Send + Sync>;

/// Tools of one server, in the order of its list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalogue {
    pub(crate) tools: Vec<CatalogueTool>,
    /// Tools that cannot be offered, each with the reason.
    pub(crate) left_out: Vec<String>,
}

/// A tool that is offered.
#[derive(Debug, Clone)]
pub(crate) struct CatalogueTool {
    /// The server's own name of it.
    pub(crate) own_name: String,
    /// The tool as models and the engine see it.
    pub(crate) spec: ToolSpec,
    /// Digest of what the server says about it.
    pub(crate) digest: String,
    /// Schema of its structured results.
    pub(crate) output: Option<Arc<JsonObject>>,
}

impl Catalogue {
    /// Makes the catalogue of a list. What the user disabled is left out without a word.
    pub(crate) fn new(
        server: &ServerName,
        config: &McpServer,
        check: &CheckTool,
        listed: Vec<Tool>,
    ) -> Self {
        let mut catalogue = Self::default();
        for tool in listed {
            if !config.offers(&tool.name) {
                continue;
            }
            let shown = clipped(&tool.name, 80);
            let tool = offered(server, config, tool);
            match tool.and_then(|tool| check(&tool.spec).map(|()| tool)) {
                Ok(tool) if catalogue.find(&tool.spec.name).is_some() => {
                    catalogue.left_out.push(format!("{shown:?}: its name is taken"));
                }
                Ok(tool) => catalogue.tools.push(tool),
                Err(why) => catalogue.left_out.push(format!("{shown:?}: {why}")),
            }
        }
        catalogue
    }

    /// Returns the tool that models know by this name.
    pub(crate) fn find(&self, name: &str) -> Option<&CatalogueTool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }
}

fn offered(server: &ServerName, config: &McpServer, tool: Tool) -> Result<CatalogueTool, String> {
    let digest = digest(&tool);
    let parameters = parameters(&tool.input_schema)?;
    let effect = effect(config, &tool.name, tool.annotations.as_ref());
    let timeout_ms = u64::try_from(config.tool_timeout.as_millis()).unwrap_or(u64::MAX).max(1);
    let spec = ToolSpec::new(tool_name(server, &tool.name), effect).with(|it| {
        it.description = description(server, &tool);
        it.parameters = parameters;
        it.timeout_ms = Some(timeout_ms);
    });
    Ok(CatalogueTool { own_name: tool.name.into_owned(), spec, digest, output: tool.output_schema })
}

/// Returns the effect class of a tool: the user's word, then that of a server which the user trusts.
/// A hint that is absent has the protocol's default, so the tool may destroy something.
fn effect(config: &McpServer, tool: &str, hints: Option<&ToolAnnotations>) -> EffectClass {
    let own = config.tools.get(tool).and_then(|own| own.effect);
    own.unwrap_or_else(|| match hints.filter(|_| config.trusted) {
        Some(hints) if hints.read_only_hint == Some(true) => EffectClass::ReadOnly,
        Some(hints) if hints.is_idempotent() && !hints.is_destructive() => EffectClass::Idempotent,
        Some(_) | None => EffectClass::Effectful,
    })
}

fn description(server: &ServerName, tool: &Tool) -> String {
    let said = tool.description.as_deref().map(str::trim).filter(|said| !said.is_empty());
    match said.or(tool.title.as_deref()) {
        Some(said) => clipped(said, MAX_DESCRIPTION),
        None => format!("A tool of the MCP server {server}, which does not describe it."),
    }
}

/// Returns the schema of a tool's arguments as text. A tool always takes an object.
fn parameters(schema: &JsonObject) -> Result<String, String> {
    let mut schema = schema.clone();
    match schema.get("type") {
        None => drop(schema.insert("type".into(), "object".into())),
        Some(Value::String(name)) if name == "object" => {}
        Some(other) => return Err(format!("its arguments are of the type {other}")),
    }
    let text = Value::Object(schema).to_string();
    match text.len() <= MAX_SCHEMA {
        true => Ok(text),
        false => Err(format!("its schema has {} bytes, and {MAX_SCHEMA} are the most", text.len())),
    }
}

/// Returns the digest of what a server says about a tool that matters to whoever approves it: name,
/// description, schema of the arguments, and the hints.
fn digest(tool: &Tool) -> String {
    let mut text = String::new();
    canonical(&Value::from(tool.name.as_ref()), &mut text);
    canonical(&tool.description.as_deref().map_or(Value::Null, Value::from), &mut text);
    canonical(&Value::Object(tool.input_schema.as_ref().clone()), &mut text);
    let hints = tool.annotations.as_ref();
    for hint in [
        hints.and_then(|hints| hints.read_only_hint),
        hints.and_then(|hints| hints.destructive_hint),
        hints.and_then(|hints| hints.idempotent_hint),
    ] {
        canonical(&hint.map_or(Value::Null, Value::from), &mut text);
    }
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a value with the members of each object in the order of their names, since a server may
/// send them in another order each time.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (name, member) in members {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                canonical(member, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::Concurrency;

    use super::*;
    use crate::config::{McpTransport, ToolOverride};

    fn config(trusted: bool) -> McpServer {
        let transport =
            McpTransport::Http { url: "http://h".into(), headers: Default::default(), token: None };
        McpServer { trusted, ..McpServer::new(transport) }
    }

    fn tool(value: Value) -> Tool {
        serde_json::from_value(value).unwrap()
    }

    fn catalogue(config: &McpServer, listed: Vec<Value>) -> Catalogue {
        let listed = listed.into_iter().map(tool).collect();
        let check: CheckTool = Arc::new(|spec| match spec.description.contains("refused") {
            true => Err("it is refused".into()),
            false => Ok(()),
        });
        Catalogue::new(&ServerName::new("s").unwrap(), config, &check, listed)
    }

    fn class(trusted: bool, hints: Value) -> (EffectClass, Concurrency) {
        let listed = vec![json!({"name": "t", "inputSchema": {}, "annotations": hints})];
        let made = catalogue(&config(trusted), listed);
        let spec = &made.tools[0].spec;
        (spec.effect, spec.concurrency)
    }

    #[test]
    fn hints_count_only_where_the_server_is_trusted() {
        let reads = json!({"readOnlyHint": true});
        let effectful = (EffectClass::Effectful, Concurrency::Exclusive);
        assert_eq!(class(true, reads.clone()), (EffectClass::ReadOnly, Concurrency::Parallel));
        assert_eq!(class(false, reads), effectful);
        let safe = json!({"idempotentHint": true, "destructiveHint": false});
        assert_eq!(class(true, safe.clone()), (EffectClass::Idempotent, Concurrency::Exclusive));
        assert_eq!(class(false, safe), effectful);
        for absent in
            [json!({}), json!({"idempotentHint": true}), json!({"destructiveHint": false})]
        {
            assert_eq!(class(true, absent.clone()), effectful, "{absent}");
        }
    }

    #[test]
    fn the_users_word_outranks_the_server() {
        let mut config = config(true);
        let effect = Some(EffectClass::Effectful);
        config.tools.insert("t".into(), ToolOverride { effect, approval: None });
        let hints = json!({"readOnlyHint": true});
        let listed = vec![json!({"name": "t", "inputSchema": {}, "annotations": hints})];
        assert_eq!(catalogue(&config, listed).tools[0].spec.effect, EffectClass::Effectful);
    }

    #[test]
    fn a_tool_that_cannot_be_offered_costs_itself_alone() {
        let long = "x".repeat(MAX_SCHEMA);
        let made = catalogue(
            &config(false),
            vec![
                json!({"name": "array", "inputSchema": {"type": "array"}}),
                json!({"name": "long", "inputSchema": {"title": long}}),
                json!({"name": "b", "description": "refused", "inputSchema": {}}),
                json!({"name": "a", "inputSchema": {}}),
                json!({"name": "a", "inputSchema": {"type": "object"}}),
                json!({"name": "", "inputSchema": {}}),
            ],
        );
        let names: Vec<&str> = made.tools.iter().map(|tool| tool.spec.name.as_str()).collect();
        assert_eq!(names, ["mcp__s__a", "mcp__s___e3b0c442_"]);
        assert_eq!(made.left_out.len(), 4, "{:?}", made.left_out);
        assert_eq!(made.tools[0].spec.parameters, r#"{"type":"object"}"#);
        assert!(!made.tools[0].spec.description.is_empty());
    }

    #[test]
    fn the_digest_is_of_the_meaning_and_not_of_the_order() {
        let one = tool(json!({"name": "t", "description": "d",
            "inputSchema": {"type": "object", "properties": {"a": {}, "b": {}}}}));
        let same: Tool = serde_json::from_str(
            r#"{"inputSchema":{"properties":{"b":{},"a":{}},"type":"object"},"description":"d","name":"t"}"#,
        )
        .unwrap();
        assert_eq!(digest(&one), digest(&same));
        for other in [
            json!({"name": "t", "description": "e", "inputSchema": one.input_schema}),
            json!({"name": "t", "description": "d", "inputSchema": {"type": "object"}}),
            json!({"name": "t", "description": "d", "inputSchema": one.input_schema,
                "annotations": {"readOnlyHint": true}}),
        ] {
            assert_ne!(digest(&one), digest(&tool(other.clone())), "{other}");
        }
    }
}
