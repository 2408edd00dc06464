//! The script: what to do next, by what is asked and by what the tools have returned.
//!
//! Every plan moves on by the calls that the conversation holds, whether they succeeded or not,
//! so it ends, and a request that comes again gets the same answer.

mod conversation;
mod plan;
mod program;
mod summary;

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::answer::MODEL;
use crate::request::ParsedRequest;
use plan::{Direct, Plan, Repeat};
use summary::{FolderListing, excerpt, quoted, summary};

/// Next move of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelAction {
    /// Answers with a text.
    Answer(String),
    /// It answers, with a pause after each few words.
    AnswerSlowly(String),
    /// It calls a tool, once for each of these arguments.
    Call {
        /// Name of the tool.
        tool: String,
        /// Arguments, each a JSON text.
        arguments: Vec<String>,
    },
}

/// Answer in the forms that a terminal or a page shows.
const MARKDOWN: &str = include_str!("markdown.md");

/// Results quoted one by one in an answer about many.
const RESULTS: usize = 20;

/// Decides what comes next.
pub(crate) fn next(asked: &ParsedRequest) -> ModelAction {
    if let Some(parts) = &asked.summary_parts {
        return ModelAction::Answer(conversation::summary(parts));
    }
    if let Some(writes) = asked.program {
        return program::next(asked, writes);
    }
    match Plan::of(&asked.prompt) {
        Plan::Folder => folder(asked),
        Plan::Read { path } => read(asked, &path),
        Plan::Search { pattern } => search(asked, &pattern),
        Plan::Shell { command } => shell(asked, &command),
        Plan::Write { path, content } => write(asked, &path, &content),
        Plan::Direct(Direct::Edit { path, old, new }) => edit(asked, &path, &old, &new),
        Plan::Direct(Direct::Steps { steps }) => follow_plan(asked, &steps),
        Plan::Direct(Direct::Ask { question, choices }) => ask(asked, &question, &choices),
        Plan::Direct(Direct::Markdown) => ModelAction::Answer(MARKDOWN.to_owned()),
        Plan::Repeat(repeat) => repeated(asked, &repeat),
        Plan::Slowly { text } => ModelAction::AnswerSlowly(format!(
            "{text} (I am {MODEL}, a script and not a model: these were your own words.)"
        )),
        Plan::Unclear { why } => ModelAction::Answer(format!("{why} {}", abilities(asked))),
        Plan::Greet => ModelAction::Answer(format!("Hello! {}", abilities(asked))),
    }
}

fn folder(asked: &ParsedRequest) -> ModelAction {
    let Some(listed) = asked.returned("list_dir") else {
        return call(asked, "list_dir", json!({ "path": "." }).to_string());
    };
    let listing = FolderListing::parse(listed);
    let Some(file) = listing.sensible_file() else {
        let found =
            listing.words().unwrap_or_else(|| format!("list_dir returned: {}", quoted(listed)));
        return answer_with_source(&format!("{found} I saw no file there to read."), &["list_dir"]);
    };
    let found = listing.words().unwrap_or_default();
    match asked.returned("read_file") {
        Some(text) => {
            let read = summary(file, text);
            answer_with_source(&format!("{found} {read}"), &["list_dir", "read_file"])
        }
        None if asked.offers("read_file") => {
            call(asked, "read_file", json!({ "path": file }).to_string())
        }
        None => answer_with_source(
            &format!("{found} {}", not_offered(asked, "read_file")),
            &["list_dir"],
        ),
    }
}

fn read(asked: &ParsedRequest, path: &str) -> ModelAction {
    match asked.returned("read_file") {
        Some(text) => answer_with_source(&summary(path, text), &["read_file"]),
        None => call(asked, "read_file", json!({ "path": path }).to_string()),
    }
}

fn search(asked: &ParsedRequest, pattern: &str) -> ModelAction {
    let Some(found) = asked.returned("grep") else {
        return call(asked, "grep", json!({ "pattern": pattern }).to_string());
    };
    let hits = found.lines().filter(|line| !line.starts_with('[') && !line.is_empty()).count();
    let text = format!("grep for {pattern:?} returned {hits} lines:\n{}\n", excerpt(found));
    answer_with_source(&text, &["grep"])
}

fn shell(asked: &ParsedRequest, command: &str) -> ModelAction {
    match asked.returned("shell") {
        Some(output) => {
            let text = format!("The shell ran `{command}` and returned:\n{}\n", excerpt(output));
            answer_with_source(&text, &["shell"])
        }
        None => call(asked, "shell", json!({ "command": command }).to_string()),
    }
}

fn write(asked: &ParsedRequest, path: &str, content: &str) -> ModelAction {
    let Some(written) = asked.returned("write_file") else {
        let arguments = json!({ "path": path, "content": content });
        return call(asked, "write_file", arguments.to_string());
    };
    match asked.returned("read_file") {
        Some(text) => {
            let text = format!(
                "write_file returned: {} Reading {path} back gave: {}",
                quoted(written),
                quoted(text)
            );
            answer_with_source(&text, &["write_file", "read_file"])
        }
        None if asked.offers("read_file") => {
            call(asked, "read_file", json!({ "path": path }).to_string())
        }
        None => answer_with_source(
            &format!("write_file returned: {}", quoted(written)),
            &["write_file"],
        ),
    }
}

fn edit(asked: &ParsedRequest, path: &str, old: &str, new: &str) -> ModelAction {
    match asked.returned("edit_file") {
        Some(edited) => {
            answer_with_source(&format!("edit_file returned: {}", quoted(edited)), &["edit_file"])
        }
        // A file is read before it is edited.
        None if asked.returned("read_file").is_none() && asked.offers("read_file") => {
            call(asked, "read_file", json!({ "path": path }).to_string())
        }
        None => {
            let arguments = json!({ "path": path, "old": old, "new": new });
            call(asked, "edit_file", arguments.to_string())
        }
    }
}

/// Writes the plan with its first step in progress, and once more with every step completed.
fn follow_plan(asked: &ParsedRequest, steps: &[String]) -> ModelAction {
    let written = asked.steps.iter().filter(|step| step.name == "update_plan").count();
    if written > steps.len() {
        return answer_with_source("The plan is followed to its end.", &["update_plan"]);
    }
    let plan = steps.iter().enumerate().map(|(at, step)| {
        let status = match at.cmp(&written) {
            Ordering::Less => "completed",
            Ordering::Equal => "in_progress",
            Ordering::Greater => "pending",
        };
        json!({ "step": step, "status": status })
    });
    let plan: Vec<Value> = plan.collect();
    call(asked, "update_plan", json!({ "plan": plan }).to_string())
}

fn ask(asked: &ParsedRequest, question: &str, choices: &[String]) -> ModelAction {
    match asked.returned("ask_user") {
        Some(answer) => {
            answer_with_source(&format!("You answered: {}", quoted(answer)), &["ask_user"])
        }
        None => {
            let arguments = json!({ "question": question, "choices": choices });
            call(asked, "ask_user", arguments.to_string())
        }
    }
}

fn repeated(asked: &ParsedRequest, repeat: &Repeat) -> ModelAction {
    let tool = repeat.tool.as_str();
    let outputs: Vec<&str> = asked
        .steps
        .iter()
        .filter(|step| step.name == tool)
        .map(|step| step.output.as_str())
        .collect();
    let left = repeat.times.saturating_sub(outputs.len());
    if left > 0 && !asked.offers(tool) {
        return ModelAction::Answer(not_offered(asked, tool));
    }
    let now = if repeat.together { left } else { left.min(1) };
    if now > 0 {
        let first = outputs.len() + 1;
        let arguments = (first..first + now).map(|step| repeat.arguments_of(step)).collect();
        return ModelAction::Call { tool: tool.into(), arguments };
    }
    let mut text = format!("I called {tool} {} times. It returned:\n", outputs.len());
    for (step, output) in (1..).zip(outputs.iter().take(RESULTS)) {
        text.push_str(&format!("{step}. {}\n", quoted(output)));
    }
    if outputs.len() > RESULTS {
        text.push_str(&format!("and {} more.\n", outputs.len() - RESULTS));
    }
    answer_with_source(&text, &[tool])
}

/// A call of a tool, or the honest word that it is not on offer.
fn call(asked: &ParsedRequest, tool: &str, arguments: String) -> ModelAction {
    if !asked.offers(tool) {
        return ModelAction::Answer(not_offered(asked, tool));
    }
    ModelAction::Call { tool: tool.into(), arguments: vec![arguments] }
}

/// An answer that says where its words come from.
fn answer_with_source(text: &str, tools: &[&str]) -> ModelAction {
    let tools = tools.join(" and ");
    let space = if text.ends_with('\n') { "\n" } else { " " };
    ModelAction::Answer(format!(
        "{text}{space}(I am {MODEL}, a script and not a model: these are set phrases around what \
         {tools} returned just now.)"
    ))
}

fn not_offered(asked: &ParsedRequest, tool: &str) -> String {
    format!(
        "For this I would call {tool}, which this request does not offer. {} I am {MODEL}, a \
         script and not a model.",
        offered(asked)
    )
}

fn offered(asked: &ParsedRequest) -> String {
    if asked.tools.is_empty() {
        "It offers no tools.".into()
    } else {
        format!("The tools on offer: {}.", asked.tools.join(", "))
    }
}

fn abilities(asked: &ParsedRequest) -> String {
    format!(
        "I am {MODEL}, a script and not a model, behind a real HTTP endpoint on this machine. Ask \
         me about this folder, or say `read PATH`, `search PATTERN`, `run: COMMAND`, \
         `write PATH: TEXT`, `edit PATH: OLD => NEW`, `plan: STEP; STEP`, `ask: QUESTION | CHOICE` \
         or `repeat N: TOOL JSON`, and I will call the tools for it. {} For a \
         real model, configure a provider.",
        offered(asked)
    )
}

#[cfg(test)]
mod tests;
