//! Prompts of servers: texts that a user calls by name, with arguments.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    ContentBlock, GetPromptRequestParams, GetPromptResponse, JsonObject, PaginatedRequestParams,
    Prompt, PromptMessage, Role,
};
use windlass_ports::CancelSource;

use crate::ask::{AskFailure, ask};
use crate::call::{CallEnd, failed};
use crate::error::McpError;
use crate::excerpt::clipped;
use crate::name::{ServerName, tool_name};
use crate::result::part;
use crate::server::Server;
use crate::tools::McpTools;

/// Most prompts of one server.
const MAX_PROMPTS: usize = 512;
/// Most pages of a list of prompts.
const MAX_PAGES: usize = 64;
/// Most bytes of a name or a description in a message.
const SHOWN: usize = 200;

/// Prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    /// Name by which a user calls it: `mcp__SERVER__PROMPT`.
    pub name: String,
    /// Description of the server, which may be empty.
    pub description: String,
    /// Arguments that it takes.
    pub arguments: Vec<PromptArgument>,
    /// The server's own name of it.
    own_name: String,
}

/// Argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Name of the argument.
    pub name: String,
    /// Description of the server, which may be empty.
    pub description: String,
    /// True if the prompt needs it.
    pub required: bool,
}

/// Text that a server gave for a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// Messages in their order. What is no text is described.
    pub text: String,
    /// Contents of the images that were taken, in the order of their descriptions.
    pub images: Vec<Vec<u8>>,
}

impl McpTools {
    /// Lists the prompts of each server that has some, or of one.
    pub async fn prompts(
        &self,
        of: Option<&ServerName>,
    ) -> Vec<(&ServerName, Result<Vec<ServerPrompt>, McpError>)> {
        let mut all = Vec::new();
        let servers = self.prompting.iter().filter_map(|at| self.servers.get(*at));
        for server in servers.filter(|server| of.is_none_or(|name| server.name == *name)) {
            let listed = list(server).await.map_err(|failure| {
                McpError::new(format!("cannot list the prompts of a server: {}", failure.words))
            });
            all.push((&server.name, listed));
        }
        all
    }

    /// Gets the text of a prompt that is called by its name, with arguments such as
    /// `change=1 tone="very kind"`. Of its images those are returned that `takes` accepts by their
    /// bytes; the others are described.
    ///
    /// # Errors
    /// [`McpError`] when no server has the prompt, an argument is missing or unknown, or the server
    /// refuses.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &str,
        takes: &mut (dyn FnMut(&[u8]) -> bool + Send),
    ) -> Result<PromptText, McpError> {
        let got = self.messages(name, arguments).await.map_err(|failure| {
            let name = clipped(name, SHOWN);
            McpError::new(format!("cannot use the prompt /{name}: {}", failure.words))
        });
        Ok(text(&got?, takes))
    }

    async fn messages(
        &self,
        name: &str,
        arguments: &str,
    ) -> Result<Vec<PromptMessage>, AskFailure> {
        let owner = self
            .prompting
            .iter()
            .filter_map(|at| self.servers.get(*at))
            .find(|server| name.strip_prefix(&format!("mcp__{}__", server.name)).is_some());
        let server = owner.ok_or_else(|| {
            AskFailure::new("no MCP server with prompts has that name: see windlass mcp prompts")
        })?;
        let prompts = list(server).await?;
        let prompt = prompts.iter().find(|prompt| prompt.name == name).ok_or_else(|| {
            let there: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
            let there = clipped(&there.join(", "), 5 * SHOWN);
            AskFailure::new(format!("the MCP server {} has only: {there}", server.name))
        })?;
        let given = given(prompt, arguments).map_err(AskFailure::new)?;
        let mut params = GetPromptRequestParams::new(&prompt.own_name);
        params.arguments = (!given.is_empty()).then_some(given);
        get(server, params).await
    }
}

async fn list(server: &Server) -> Result<Vec<ServerPrompt>, AskFailure> {
    let never = CancelSource::new();
    let limits = (server.config.tool_timeout, &never.signal());
    let listed = ask(server, limits, async |link| {
        let (mut prompts, mut params) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let page =
                link.peer.list_prompts(params).await.map_err(|error| failed(&error, &link))?;
            prompts.extend(page.prompts);
            let Some(cursor) = page.next_cursor.filter(|_| prompts.len() < MAX_PROMPTS) else {
                return Ok(prompts);
            };
            let mut next = PaginatedRequestParams::default();
            next.cursor = Some(cursor);
            params = Some(next);
        }
        Ok(prompts)
    });
    let prompt = |prompt| server_prompt(&server.name, prompt);
    Ok(listed.await?.into_iter().take(MAX_PROMPTS).map(prompt).collect())
}

fn server_prompt(server: &ServerName, prompt: Prompt) -> ServerPrompt {
    let arguments = prompt.arguments.unwrap_or_default().into_iter();
    ServerPrompt {
        name: tool_name(server, &prompt.name),
        description: prompt.description.or(prompt.title).unwrap_or_default(),
        arguments: arguments
            .map(|argument| PromptArgument {
                name: argument.name,
                description: argument.description.unwrap_or_default(),
                required: argument.required == Some(true),
            })
            .collect(),
        own_name: prompt.name,
    }
}

async fn get(
    server: &Server,
    params: GetPromptRequestParams,
) -> Result<Vec<PromptMessage>, AskFailure> {
    let never = CancelSource::new();
    let limits = (server.config.tool_timeout, &never.signal());
    let answer = ask(server, limits, async move |link| {
        match link.peer.get_prompt_once(params).await.map_err(|error| failed(&error, &link))? {
            GetPromptResponse::Complete(result) => Ok(result.messages),
            GetPromptResponse::InputRequired(required) => {
                Err(CallEnd::InputRequired(Box::new(required)))
            }
            _ => Err(CallEnd::Refused("something that is no prompt".into())),
        }
    });
    answer.await
}

/// Returns the arguments that a user gives to a prompt, compared with those that it takes.
fn given(prompt: &ServerPrompt, arguments: &str) -> Result<JsonObject, String> {
    let names: Vec<&str> = prompt.arguments.iter().map(|one| one.name.as_str()).collect();
    let takes = match names.is_empty() {
        true => "it takes none".to_owned(),
        false => format!("it takes {}", clipped(&names.join(", "), SHOWN)),
    };
    let mut given = JsonObject::new();
    for word in words(arguments)? {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            format!("write its arguments as NAME=VALUE and not as {word:?}; {takes}")
        })?;
        if !names.contains(&name) {
            return Err(format!("it has no argument {name:?}; {takes}"));
        }
        given.insert(name.to_owned(), value.into());
    }
    let missing = |one: &&PromptArgument| one.required && !given.contains_key(&one.name);
    match prompt.arguments.iter().find(missing) {
        None => Ok(given),
        Some(one) if one.description.is_empty() => {
            Err(format!("its argument {} is missing: add {0}=VALUE", one.name))
        }
        Some(PromptArgument { name, description, .. }) => {
            let description = clipped(description, SHOWN);
            Err(format!("its argument {name} is missing ({description}): add {name}=VALUE"))
        }
    }
}

/// Splits a text into words. Quotes hold a word together, and `\` takes a character as it is.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            ('"' | '\'', None) => {
                word.get_or_insert_default();
                quote = Some(char);
            }
            (end, Some(begun)) if end == begun => quote = None,
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            (char, _) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(quote) => Err(format!("a {quote} in its arguments is not closed")),
    }
}

/// Returns messages as one text. Where the server speaks in both roles, each message names its role.
fn text(messages: &[PromptMessage], takes: &mut dyn FnMut(&[u8]) -> bool) -> PromptText {
    let named = messages.iter().any(|message| message.role == Role::Assistant);
    let mut images = Vec::new();
    let texts = messages.iter().map(|message| {
        let text = match image(&message.content).filter(|bytes| takes(bytes)) {
            Some(bytes) => {
                images.push(bytes);
                format!("[image {}]", images.len())
            }
            None => part(&message.content, false),
        };
        match (named, &message.role) {
            (false, _) => text,
            (true, Role::User) => format!("[user]\n{text}"),
            (true, Role::Assistant) => format!("[assistant]\n{text}"),
        }
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    PromptText { text, images }
}

fn image(content: &ContentBlock) -> Option<Vec<u8>> {
    let ContentBlock::Image(image) = content else {
        return None;
    };
    STANDARD.decode(&image.data).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt() -> ServerPrompt {
        let prompt = json!({"name": "review", "arguments": [
            {"name": "change", "description": "The change.", "required": true}, {"name": "tone"}
        ]});
        server_prompt(&ServerName::new("s").unwrap(), serde_json::from_value(prompt).unwrap())
    }

    #[test]
    fn arguments_are_words_with_quotes() {
        for (text, expected) in [
            ("", vec![]),
            (" change=1  tone=kind\n", vec!["change=1", "tone=kind"]),
            (r#"change="a b" tone='c "d"'"#, vec!["change=a b", r#"tone=c "d""#]),
            (r#"a\ b "c\"d" '' 'e\f'"#, vec!["a b", "c\"d", "", "e\\f"]),
        ] {
            assert_eq!(words(text).unwrap(), expected, "{text}");
        }
        assert_eq!(words("a=\"b").unwrap_err(), "a \" in its arguments is not closed");
    }

    #[test]
    fn the_argument_that_is_missing_or_unknown_is_named() {
        let named = |text: &str| given(&prompt(), text).map(|given| json!(given).to_string());
        assert_eq!(named("change=1=2").unwrap(), r#"{"change":"1=2"}"#);
        let missing = "its argument change is missing (The change.): add change=VALUE";
        assert_eq!(named("tone=kind").unwrap_err(), missing);
        let unknown = "it has no argument \"size\"; it takes change, tone";
        assert_eq!(named("change=1 size=2").unwrap_err(), unknown);
        assert!(named("now").unwrap_err().contains("as NAME=VALUE and not as \"now\""));
    }
}
