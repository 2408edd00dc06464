//! Reads a request of either dialect. Pure and tolerant: fields that the script does not need are
//! ignored.

use serde_json::Value;

use crate::answer::MODEL;

/// The dialect of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The OpenAI Chat Completions API.
    Chat,
    /// The OpenAI Responses API.
    Responses,
}

/// Request, as far as the script needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParsedRequest {
    /// The last words of the user.
    pub(crate) prompt: String,
    /// The calls since then, in order.
    pub(crate) steps: Vec<CompletedCall>,
    /// Calls of the whole conversation.
    pub(crate) calls: usize,
    /// Number of texts that the model has written since then.
    pub(crate) messages: usize,
    /// The tools on offer; where programs are asked for, those that are their functions.
    pub(crate) tools: Vec<String>,
    /// True if programs are asked for, and how.
    pub(crate) program: Option<ProgramRequest>,
    /// The parts of the conversation to summarize, if the instructions ask for a summary.
    pub(crate) summary_parts: Option<Vec<String>>,
    /// True if the answer is to be streamed.
    pub(crate) stream: bool,
    /// True if a Chat stream is to end with its usage.
    pub(crate) include_usage: bool,
}

/// Headings that instructions name where they ask for a summary.
const SUMMARY_HEADINGS: [&str; 4] = ["## Goal", "## Done", "## Open", "## Facts"];

/// Form in which programs are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgramRequest {
    /// Language of the programs.
    pub(crate) language: Language,
    /// True if one stands in the text of an answer, and is not handed over by a call.
    pub(crate) inline: bool,
}

/// A language of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// The language PTC-Lisp.
    PtcLisp,
    /// The language JavaScript.
    JavaScript,
}

impl Language {
    /// Each, with what instructions say where it is asked for, and how they begin a line about a
    /// function.
    const ALL: [(Self, &str, &str); 2] = [
        (Self::PtcLisp, "# Programs in PTC-Lisp", "(tool/"),
        (Self::JavaScript, "answer with a JavaScript program", "- `tools."),
    ];

    /// Returns the info string of its fence.
    pub(crate) fn fence(self) -> &'static str {
        match self {
            Self::PtcLisp => "clojure",
            Self::JavaScript => "javascript",
        }
    }

    /// Returns the language that the instructions ask for, with the functions that they name.
    fn of(instructions: &str) -> Option<(Self, Vec<String>)> {
        let mut all = Self::ALL.into_iter();
        let (language, _, begins) = all.find(|(_, says, _)| instructions.contains(says))?;
        let lines = instructions.lines();
        let functions = lines.filter_map(|line| {
            let rest = line.strip_prefix(begins)?;
            let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let name = rest.split(|c: char| !named(c)).next()?;
            (!name.is_empty()).then(|| name.to_owned())
        });
        Some((language, functions.collect()))
    }
}

/// A call of this turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletedCall {
    id: String,
    /// Name of the tool.
    pub(crate) name: String,
    /// Output of the call; empty if the conversation does not hold it.
    pub(crate) output: String,
}

/// Reason for refusing a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// It is not what the protocol says.
    Malformed(String),
    /// It asks for another model.
    UnknownModel(String),
}

impl ParsedRequest {
    /// Reads the body of a request.
    pub(crate) fn parse(dialect: Dialect, body: &[u8]) -> Result<Self, RequestError> {
        let malformed = |why: String| RequestError::Malformed(why);
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| malformed(format!("the body is not JSON: {error}")))?;
        let key = match dialect {
            Dialect::Chat => "messages",
            Dialect::Responses => "input",
        };
        let model = body.get("model").and_then(Value::as_str);
        let model = model.ok_or_else(|| malformed("the request names no model".into()))?;
        if model != MODEL {
            return Err(RequestError::UnknownModel(model.chars().take(100).collect()));
        }
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        let mut asked = Self {
            stream: flag(body.get("stream")),
            include_usage: flag(body.pointer("/stream_options/include_usage")),
            ..Self::default()
        };
        for tool in list(&body, "tools") {
            let name = tool.get("function").unwrap_or(tool).get("name").and_then(Value::as_str);
            asked.tools.extend(name.map(String::from));
        }
        asked.read_instructions(&body, key);
        match body.get(key) {
            Some(Value::Array(items)) => items.iter().for_each(|item| asked.add_item(item)),
            Some(Value::String(text)) if dialect == Dialect::Responses => {
                asked.prompt.clone_from(text);
            }
            Some(_) | None => return Err(malformed(format!("the request has no list `{key}`"))),
        }
        Ok(asked)
    }

    /// Looks whether the instructions ask for programs. Context that comes later is no instruction.
    fn read_instructions(&mut self, body: &Value, key: &str) {
        let mut instructions = text(body, "instructions");
        let first = list(body, key).first();
        if let Some(first) = first.filter(|first| is_instruction(first)) {
            instructions.push_str(&text(first, "content"));
        }
        if SUMMARY_HEADINGS.iter().all(|heading| instructions.contains(heading)) {
            let parts = list(body, key).iter().map(|item| text(item, "content"));
            self.summary_parts = Some(parts.filter(|part| part.starts_with("<context")).collect());
        }
        if let Some((language, functions)) = Language::of(&instructions) {
            let spoken = self.tools.is_empty();
            self.program = Some(ProgramRequest { language, inline: spoken });
            self.tools = functions;
        }
    }

    /// Returns true if a tool is on offer.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    /// Returns the output of the first call of a tool in this turn, if there was one.
    pub(crate) fn returned(&self, tool: &str) -> Option<&str> {
        let step = self.steps.iter().find(|step| step.name == tool)?;
        Some(&step.output)
    }

    /// Takes one item of the conversation.
    fn add_item(&mut self, item: &Value) {
        match (text(item, "role").as_str(), text(item, "type").as_str()) {
            // Instructions and context: nobody's words, so they ask nothing, wherever they stand.
            ("system" | "developer", _) => {}
            ("user", _) => {
                self.prompt = text(item, "content");
                self.steps.clear();
                self.messages = 0;
            }
            ("assistant", _) => {
                self.messages += usize::from(!text(item, "content").is_empty());
                for call in list(item, "tool_calls") {
                    let function = call.get("function").unwrap_or(&Value::Null);
                    self.call(text(call, "id"), text(function, "name"));
                }
            }
            ("tool", _) => self.result(&text(item, "tool_call_id"), text(item, "content")),
            (_, "function_call") => self.call(text(item, "call_id"), text(item, "name")),
            (_, "function_call_output") => {
                self.result(&text(item, "call_id"), text(item, "output"));
            }
            _ => {}
        }
    }

    fn call(&mut self, id: String, name: String) {
        self.calls += 1;
        self.steps.push(CompletedCall { id, name, output: String::new() });
    }

    fn result(&mut self, id: &str, output: String) {
        if let Some(step) = self.steps.iter_mut().rev().find(|step| step.id == id) {
            step.output = output;
        }
    }
}

fn is_instruction(item: &Value) -> bool {
    matches!(text(item, "role").as_str(), "system" | "developer")
}

/// A text: a string, or the texts of a list of parts.
fn text(item: &Value, key: &str) -> String {
    match item.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

fn list<'a>(item: &'a Value, key: &str) -> &'a [Value] {
    item.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_dialects_ask_the_same() {
        let tools = ["a", "b"];
        let chat = json!({ "model": MODEL, "stream": true, "messages": [
            { "role": "system", "content": "be good" },
            { "role": "system", "content": "the workspace is /w" },
            { "role": "user", "content": "old" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c0", "type": "function", "function": { "name": "a", "arguments": "{}" } } ] },
            { "role": "tool", "tool_call_id": "c0", "content": "stale" },
            { "role": "assistant", "content": "done" },
            { "role": "user", "content": [{ "type": "text", "text": "ne" }, { "type": "text", "text": "w" }] },
            { "role": "assistant", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "b", "arguments": "{}" } },
                { "id": "c2", "type": "function", "function": { "name": "a", "arguments": "{}" } } ] },
            { "role": "tool", "tool_call_id": "c2", "content": "two" },
            { "role": "developer", "content": [{ "type": "text", "text": "mind the gap" }] },
            { "role": "tool", "tool_call_id": "c1", "content": [{ "type": "text", "text": "one" }] },
        ], "tools": tools.map(|name| json!({ "type": "function", "function": { "name": name } })) });
        let responses = json!({ "model": MODEL, "stream": true, "instructions": "be good", "input": [
            { "type": "message", "role": "developer", "content": "the workspace is /w" },
            { "role": "user", "content": "old" },
            { "type": "function_call", "call_id": "c0", "name": "a", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c0", "output": "stale" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "done" }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "new" }] },
            { "type": "reasoning", "id": "r", "summary": [] },
            { "type": "function_call", "call_id": "c1", "name": "b", "arguments": "{}" },
            { "type": "function_call", "call_id": "c2", "name": "a", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c1", "output": "one" },
            { "role": "system", "content": [{ "type": "input_text", "text": "mind the gap" }] },
            { "type": "function_call_output", "call_id": "c2", "output": "two" },
        ], "tools": tools.map(|name| json!({ "type": "function", "name": name })) });
        let chat = ParsedRequest::parse(Dialect::Chat, chat.to_string().as_bytes()).unwrap();
        let responses =
            ParsedRequest::parse(Dialect::Responses, responses.to_string().as_bytes()).unwrap();
        assert_eq!(chat, responses);
        assert_eq!((chat.prompt.as_str(), chat.calls), ("new", 3));
        assert_eq!((chat.returned("b"), chat.returned("a")), (Some("one"), Some("two")));
        assert!(chat.offers("a") && !chat.offers("c"));
    }

    #[test]
    fn programs_are_asked_for_by_the_instructions_and_by_nothing_else() {
        let lisp = "be good\n# Programs in PTC-Lisp\n(tool/read_file {:path string})\n(tool/ls)\n";
        let asked = |instructions: &str, role: &str, tools: Value| {
            let messages = json!([{ "role": role, "content": instructions },
                                  { "role": "user", "content": "hi" }]);
            let body = json!({ "model": MODEL, "messages": messages, "tools": tools });
            ParsedRequest::parse(Dialect::Chat, body.to_string().as_bytes()).unwrap()
        };
        let run = json!([{ "type": "function", "function": { "name": "run_program" } }]);
        let (called, spoken) = (asked(lisp, "system", run), asked(lisp, "system", json!([])));
        for (asked, inline) in [(called, false), (spoken, true)] {
            let language = Language::PtcLisp;
            assert_eq!(asked.program, Some(ProgramRequest { language, inline }));
            assert_eq!(asked.tools, ["read_file", "ls"]);
        }
        assert_eq!(asked(lisp, "user", json!([])).program, None);
        let body = json!({ "model": MODEL, "input": "hi",
            "instructions": "You answer with a JavaScript program.\n- `tools.a_b`: does it\n" });
        let asked = ParsedRequest::parse(Dialect::Responses, body.to_string().as_bytes()).unwrap();
        assert_eq!(asked.program.unwrap().language, Language::JavaScript);
        assert_eq!(asked.tools, ["a_b"]);
    }

    #[test]
    fn a_summary_is_asked_for_by_its_headings() {
        let asked = |instructions: &str| {
            let messages = json!([
                { "role": "system", "content": instructions },
                { "role": "system", "content": "<context from=\"the user\">\nhi\n</context>" },
                { "role": "user", "content": "Write the summary." },
            ]);
            let body = json!({ "model": MODEL, "messages": messages });
            ParsedRequest::parse(Dialect::Chat, body.to_string().as_bytes()).unwrap().summary_parts
        };
        let part = String::from("<context from=\"the user\">\nhi\n</context>");
        assert_eq!(asked("## Goal\n## Done\n## Open\n## Facts"), Some(vec![part]));
        assert_eq!(asked("be good"), None);
    }

    #[test]
    fn what_is_no_request_is_refused_in_words() {
        for (body, needle) in [
            ("{", "not JSON"),
            ("[]", "names no model"),
            (r#"{"model":"demo-script"}"#, "no list `messages`"),
            (r#"{"model":"demo-script","messages":"hi"}"#, "no list `messages`"),
        ] {
            let Err(RequestError::Malformed(why)) =
                ParsedRequest::parse(Dialect::Chat, body.as_bytes())
            else {
                panic!("{body} was taken");
            };
            assert!(why.contains(needle), "{body}: {why}");
        }
        let other = ParsedRequest::parse(Dialect::Chat, br#"{"model":"gpt-5","messages":[]}"#);
        assert_eq!(other, Err(RequestError::UnknownModel("gpt-5".into())));
    }
}
