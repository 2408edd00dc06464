//! Reads the exit code and the output of a hook as a reply. Pure.
//!
//! Two readings of the protocol differ in the effect of an exit code other than 0 and 2 on JSON beside it. The
//! safe half of each counts here: a denial counts, an allowance or a change does not. A denial also counts if
//! another part of the JSON is invalid.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use windlass_core::HookVerdict;

use crate::denial;
use crate::event::HookEvent;
use crate::process::{CapturedOutput, HookResult, ProcessExit};
use crate::spelling;

/// Keys of the protocol that have no meaning here.
const IGNORED: [&str; 9] = [
    "initialUserMessage",
    "reloadSkills",
    "sessionTitle",
    "suppressOutput",
    "terminalSequence",
    "updatedMCPToolOutput",
    "updatedPermissions",
    "updatedToolOutput",
    "watchPaths",
];

/// Reply of a hook, in the hook's own names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedReply {
    pub(crate) verdict: HookVerdict,
    pub(crate) reason: String,
    /// Replacement for the input of the call, under the names that the hook knows.
    pub(crate) input: Option<Map<String, Value>>,
    /// Replacement for the prompt.
    pub(crate) prompt: Option<String>,
    /// Context for the model.
    pub(crate) context: Option<String>,
    /// Message to the user.
    pub(crate) message: Option<String>,
    /// Keys that nobody knows, and that resemble none of a decision.
    pub(crate) unknown: Vec<String>,
}

/// Reads what a hook says. The error is its failure, in words.
pub(crate) fn read(event: HookEvent, ran: &HookResult) -> Result<ParsedReply, String> {
    let said = HookStdout::of(event, &ran.out);
    match ran.end {
        ProcessExit::Code(0) => match said {
            HookStdout::Plain(words) => Ok(ParsedReply {
                context: words.filter(|_| event.accepts_plain_output()),
                ..ParsedReply::pass()
            }),
            HookStdout::Json(answer) => *answer,
            HookStdout::Broken(why) => Err(why),
        },
        ProcessExit::Code(2) => refused(event, said, &ran.err),
        ProcessExit::Code(code) => match said {
            HookStdout::Json(answer) => match *answer {
                Ok(answer) if answer.is_against() => Ok(answer),
                Ok(_) | Err(_) => Err(failed(&format!("it exited with code {code}"), &ran.err)),
            },
            HookStdout::Plain(_) | HookStdout::Broken(_) => {
                Err(failed(&format!("it exited with code {code}"), &ran.err))
            }
        },
        ProcessExit::Signal(signal) => {
            Err(failed(&format!("it was ended by signal {signal}"), &ran.err))
        }
    }
}

/// Exit code 2: not so, whatever else it wrote.
fn refused(
    event: HookEvent,
    said: HookStdout,
    err: &CapturedOutput,
) -> Result<ParsedReply, String> {
    let told = match said {
        HookStdout::Json(answer) => answer.ok().filter(ParsedReply::is_against),
        HookStdout::Plain(_) | HookStdout::Broken(_) => None,
    };
    if !event.can_block() {
        let what = format!("it exited with code 2, which stops nothing at {}", event.name());
        return told.map_or_else(|| Err(failed(&what, err)), Ok);
    }
    let mut answer = told.unwrap_or_else(ParsedReply::pass);
    match answer.verdict {
        HookVerdict::Halt => {}
        HookVerdict::Pass
        | HookVerdict::Allow
        | HookVerdict::Ask
        | HookVerdict::Deny
        | HookVerdict::Failed
        | HookVerdict::Overrun => answer.verdict = HookVerdict::Deny,
    }
    if answer.reason.is_empty() {
        answer.reason = stderr_text(err).unwrap_or_else(|| String::from("it gave no reason"));
    }
    answer.input = None;
    answer.prompt = None;
    Ok(answer)
}

fn failed(what: &str, err: &CapturedOutput) -> String {
    match stderr_text(err) {
        Some(words) => format!("{what}: {words}"),
        None => what.to_owned(),
    }
}

/// Returns its stderr as text, marked if it is cut.
fn stderr_text(err: &CapturedOutput) -> Option<String> {
    let mut text = err.text();
    if err.is_cut() {
        text.push_str(" [cut]");
    }
    (!text.is_empty()).then_some(text)
}

/// Output of a hook on stdout.
enum HookStdout {
    /// Plain text, if there is any.
    Plain(Option<String>),
    /// JSON, and what it comes to.
    Json(Box<Result<ParsedReply, String>>),
    /// It is too much.
    Broken(String),
}

impl HookStdout {
    fn of(event: HookEvent, out: &CapturedOutput) -> Self {
        if out.is_cut() {
            let (most, total) = (out.bytes.len(), out.total);
            return Self::Broken(format!(
                "it wrote {total} bytes, more than the {most} that it may"
            ));
        }
        let text = out.text();
        // Some shells put a byte order mark before each output.
        let text = text.strip_prefix('\u{feff}').map_or(text.as_str(), str::trim_start);
        let answer = match not_of_protocol(text) {
            Some(why) => Err(format!("{why}; write one JSON object to stdout and nothing else")),
            None if text.starts_with('{') => serde_json::from_str(text)
                .map_err(|error| format!("its stdout is not the JSON of a hook: {error}"))
                .and_then(|output: HookOutput| output.answer(event)),
            None => return Self::Plain((!text.is_empty()).then(|| text.to_owned())),
        };
        let answer = answer.or_else(|why| ParsedReply::denial(event, text, why));
        Self::Json(Box::new(answer))
    }
}

/// Returns the reason why an output is neither a JSON object nor plain text.
fn not_of_protocol(text: &str) -> Option<&'static str> {
    if text.contains('\0') {
        return Some("its stdout has NUL bytes");
    }
    if text.starts_with('[') && serde_json::from_str::<Vec<IgnoredAny>>(text).is_ok() {
        return Some("its stdout is a JSON array");
    }
    let beside = !text.starts_with('{') && denial::has_verdict(text);
    beside.then_some("its stdout has other text beside its JSON")
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HookOutput {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Option<HookSpecificOutput>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HookSpecificOutput {
    hook_event_name: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Map<String, Value>>,
    updated_prompt: Option<String>,
    additional_context: Option<String>,
    decision: Option<PermissionBehavior>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PermissionBehavior {
    behavior: Option<String>,
    updated_input: Option<Map<String, Value>>,
    message: Option<String>,
    interrupt: Option<bool>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

impl HookOutput {
    fn answer(self, event: HookEvent) -> Result<ParsedReply, String> {
        let mut specific = self.hook_specific_output.unwrap_or_default();
        if let Some(name) = specific.hook_event_name
            && name != event.name()
        {
            return Err(format!("it answers {name} where {} was asked", event.name()));
        }
        let behavior = specific.decision.take().unwrap_or_default();
        let interrupt = behavior.interrupt == Some(true);
        let rest = self.rest.keys().chain(specific.rest.keys());
        let rest = rest.chain(behavior.rest.keys()).cloned();
        let unknown = rest.filter(|key| !IGNORED.contains(&key.as_str()));
        let unknown: Vec<String> = unknown.collect();
        let misspelt = unknown.iter().find_map(|key| Some((key, spelling::meant(key)?)));
        if let Some((key, meant)) = misspelt {
            return Err(format!(
                "it writes the key {key:?} here: is {meant:?} meant, in its place?"
            ));
        }
        let words = [
            (self.decision, self.reason),
            (specific.permission_decision, specific.permission_decision_reason),
            (behavior.behavior, behavior.message),
        ];
        let mut answer = ParsedReply { unknown, ..ParsedReply::pass() };
        for (word, reason) in words {
            let reason = reason.unwrap_or_default().trim().to_owned();
            answer.merge_decision(event, word.as_deref(), reason)?;
        }
        if interrupt && answer.verdict == HookVerdict::Deny {
            answer.verdict = HookVerdict::Halt;
        }
        if self.r#continue == Some(false) && event.can_halt() {
            answer.verdict = HookVerdict::Halt;
            if let Some(reason) = self.stop_reason {
                answer.reason = reason;
            }
        }
        answer.message = filled(self.system_message);
        answer.context = filled(specific.additional_context);
        answer.input = behavior.updated_input.or(specific.updated_input);
        answer.prompt = specific.updated_prompt;
        answer.fitting(event)
    }
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

impl ParsedReply {
    /// Creates a reply that changes nothing.
    pub(crate) fn pass() -> Self {
        Self {
            verdict: HookVerdict::Pass,
            reason: String::new(),
            input: None,
            prompt: None,
            context: None,
            message: None,
            unknown: Vec::new(),
        }
    }

    /// The denial in a JSON text that is otherwise not as it should be; `why`, if it holds none.
    fn denial(event: HookEvent, text: &str, why: String) -> Result<Self, String> {
        let Some(denial) = denial::find(event, text) else {
            return Err(why);
        };
        Self {
            verdict: denial.verdict,
            reason: denial.reason,
            message: Some(format!("its denial counts, and nothing else of it: {why}")),
            ..Self::pass()
        }
        .fitting(event)
    }

    /// Returns true if the reply asks, denies or halts.
    fn is_against(&self) -> bool {
        match self.verdict {
            HookVerdict::Ask | HookVerdict::Deny | HookVerdict::Halt => true,
            HookVerdict::Pass | HookVerdict::Allow | HookVerdict::Failed | HookVerdict::Overrun => {
                false
            }
        }
    }

    /// Takes one of the words of a decision: the strongest counts.
    fn merge_decision(
        &mut self,
        event: HookEvent,
        word: Option<&str>,
        reason: String,
    ) -> Result<(), String> {
        let verdict = match word {
            None => HookVerdict::Pass,
            Some("block" | "deny") => HookVerdict::Deny,
            // To defer is to leave it to whoever is there, which is to ask.
            Some("ask" | "defer") if event == HookEvent::PreToolUse => HookVerdict::Ask,
            Some("ask" | "defer") => HookVerdict::Pass,
            Some("allow" | "approve") if event.is_before_call() => HookVerdict::Allow,
            Some("allow" | "approve") => HookVerdict::Pass,
            Some(other) => return Err(format!("there is no decision {other:?}")),
        };
        if verdict == HookVerdict::Deny && !event.can_block() {
            return Err(format!("{} cannot be blocked", event.name()));
        }
        let stronger = rank(verdict) > rank(self.verdict);
        if stronger {
            self.verdict = verdict;
        }
        if !reason.is_empty() && (stronger || self.reason.is_empty()) {
            self.reason = reason;
        }
        Ok(())
    }

    /// The same without what has no place at this event, or an error where it would be missed.
    fn fitting(mut self, event: HookEvent) -> Result<Self, String> {
        if self.is_against() && self.verdict != HookVerdict::Ask {
            self.input = None;
            self.prompt = None;
            if self.reason.is_empty() {
                self.reason = String::from("it gave no reason");
            }
        }
        if self.input.is_some() && !event.is_before_call() {
            return Err(format!("there is no input to change at {}", event.name()));
        }
        if self.prompt.is_some() && event != HookEvent::UserPromptSubmit {
            return Err(format!("there is no prompt to change at {}", event.name()));
        }
        Ok(self)
    }
}

fn rank(verdict: HookVerdict) -> u8 {
    match verdict {
        HookVerdict::Pass | HookVerdict::Failed | HookVerdict::Overrun => 0,
        HookVerdict::Allow => 1,
        HookVerdict::Ask => 2,
        HookVerdict::Deny => 3,
        HookVerdict::Halt => 4,
    }
}

#[cfg(test)]
mod tests;
