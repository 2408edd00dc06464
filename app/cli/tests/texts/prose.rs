//! A request of the Chat Completions dialect as prose.

use serde_json::Value;

use crate::common::Place;

/// Longest text that is shown whole, in bytes.
const LONG: usize = 4_000;
/// Lines of a longer text that are shown at each end.
const ENDS: usize = 3;

/// A request, with what differs from machine to machine replaced.
pub(crate) struct Prose {
    request: Value,
}

impl Prose {
    pub(crate) fn new(place: &Place, request: Value) -> Self {
        let folder = place.path().canonicalize().unwrap();
        let text = request.to_string().replace(folder.to_str().unwrap(), "/home/user/project");
        Self { request: serde_json::from_str(&text).unwrap() }
    }

    /// Number of the messages.
    pub(crate) fn messages(&self) -> usize {
        self.list().len()
    }

    /// The instructions behind a heading, up to the next one of this name.
    pub(crate) fn instructions(&self, from: &str, to: &str) -> String {
        let text = self.list()[0]["content"].as_str().unwrap_or_default();
        let (_, text) = text.split_once(from).unwrap();
        format!("{}\n", text.split_once(to).unwrap().0.trim())
    }

    pub(crate) fn conversation(&self) -> String {
        self.conversation_from(0)
    }

    /// The conversation from this message on.
    pub(crate) fn conversation_from(&self, first: usize) -> String {
        self.shown(|at, _| at >= first)
    }

    /// The calls and their results.
    pub(crate) fn calls(&self) -> String {
        self.shown(|_, role| matches!(role, "assistant" | "tool"))
    }

    /// The same with the context of the permissions.
    pub(crate) fn context_and_calls(&self) -> String {
        let calls = self.calls();
        let context = self.shown(|at, role| {
            let text = self.list()[at]["content"].as_str().unwrap_or_default();
            !matches!(role, "assistant" | "tool") && text.contains("from=\"permissions\"")
        });
        format!("{context}{calls}")
    }

    /// The conversation without what stands before every one: instructions and the context of the
    /// session.
    pub(crate) fn talk(&self) -> String {
        let usual = ["workspace", "environment", "git", "permissions"];
        self.shown(|at, _| {
            let text = self.list()[at]["content"].as_str().unwrap_or_default();
            let names = usual.map(|name| format!("<context from=\"{name}\">"));
            at > 0 && !names.iter().any(|name| text.starts_with(name))
        })
    }

    /// The latest result of a call.
    pub(crate) fn last_result(&self) -> String {
        let result = self.list().iter().rposition(|message| message["role"] == "tool");
        self.shown(|at, _| Some(at) == result)
    }

    /// The last messages.
    pub(crate) fn last(&self, messages: usize) -> String {
        self.conversation_from(self.messages() - messages)
    }

    /// The first call that a text names for `read_output`.
    pub(crate) fn named_call(&self) -> String {
        let text = self.request.to_string();
        let (_, after) = text.split_once(r#"read_output {\"call\":\""#).unwrap();
        after.split_once('\\').unwrap().0.to_owned()
    }

    /// The tools, each with its description and its parameters.
    pub(crate) fn tools(&self) -> String {
        self.tools_that(|_| true)
    }

    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str) -> String {
        self.tools_that(|tool| tool["name"] == name)
    }

    fn tools_that(&self, wanted: impl Fn(&Value) -> bool) -> String {
        let mut text = String::new();
        let tools = self.request["tools"].as_array().unwrap().iter();
        for tool in tools.map(|tool| &tool["function"]).filter(|tool| wanted(tool)) {
            text.push_str(&format!("# {}\n\n", tool["name"].as_str().unwrap()));
            text.push_str(&wrapped(tool["description"].as_str().unwrap()));
            let parameters = &tool["parameters"];
            let required = parameters["required"].as_array().cloned().unwrap_or_default();
            for (name, schema) in parameters["properties"].as_object().unwrap() {
                let needed =
                    if required.contains(&name.as_str().into()) { ", required" } else { "" };
                let kind = schema["type"].as_str().unwrap_or("any");
                let said = schema["description"].as_str().unwrap_or("(no description)");
                text.push_str(&wrapped(&format!("- {name} ({kind}{needed}): {said}")));
            }
            text.push('\n');
        }
        text
    }

    pub(crate) fn tool_names(&self) -> String {
        let tools = self.request["tools"].as_array().unwrap().iter();
        tools.map(|tool| format!("{}\n", tool["function"]["name"].as_str().unwrap())).collect()
    }

    fn list(&self) -> &[Value] {
        self.request["messages"].as_array().unwrap()
    }

    fn shown(&self, wanted: impl Fn(usize, &str) -> bool) -> String {
        let mut text = String::new();
        for (at, message) in self.list().iter().enumerate() {
            let role = message["role"].as_str().unwrap();
            if !wanted(at, role) {
                continue;
            }
            if let Some(words) = message["content"].as_str() {
                text.push_str(&format!("--- {role}\n{}\n", shortened(&steady(words))));
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let (name, arguments) = (&call["function"]["name"], &call["function"]["arguments"]);
                let (name, arguments) = (name.as_str().unwrap(), arguments.as_str().unwrap());
                text.push_str(&format!("\n--- {role} calls {name} {arguments}\n"));
            }
        }
        text
    }
}

/// Replaces what a machine and a day bring along.
fn steady(text: &str) -> String {
    let line = |line: &str| {
        for (name, value) in [
            ("Platform: ", "linux on x86_64, Debian GNU/Linux 12"),
            ("Shell: ", "/bin/sh, which is dash"),
            ("Date: ", "2026-11-25 (UTC)"),
        ] {
            if line.starts_with(name) {
                return format!("{name}{value}.");
            }
        }
        line.to_owned()
    };
    let text = text.split('\n').map(line).collect::<Vec<_>>().join("\n");
    // Positions of calls in the log, and the port of the model's server.
    let text = numbered(&text, "\"@", "17");
    numbered(&text, "http://127.0.0.1:", "80")
}

/// Replaces the number after these words.
fn numbered(text: &str, words: &str, number: &str) -> String {
    let mut pieces = text.split(words);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        let at = if rest.len() < piece.len() { number } else { "" };
        format!("{text}{words}{at}{rest}")
    })
}

/// Leaves out the middle of a long text, except for remarks in brackets.
fn shortened(text: &str) -> String {
    let cut = |line: &str| match line.len() > 400 {
        true => format!("{}(... and so on ...){}", &line[..60], &line[line.len() - 60..]),
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.split('\n').map(cut).collect();
    let length: usize = lines.iter().map(|line| line.len() + 1).sum();
    if length <= LONG || lines.len() <= 2 * ENDS {
        return lines.join("\n");
    }
    let (mut kept, mut gap) = (Vec::new(), false);
    for (at, line) in lines.iter().enumerate() {
        if at < ENDS || at + ENDS >= lines.len() || line.starts_with('[') {
            kept.push(line.as_str());
            gap = false;
        } else if !gap {
            kept.push("(... and so on ...)");
            gap = true;
        }
    }
    kept.join("\n")
}

/// Breaks a text into lines of at most a hundred characters.
fn wrapped(text: &str) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        if width > 0 && width + 1 + word.len() > 100 {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += word.len();
    }
    out.push('\n');
    out
}
