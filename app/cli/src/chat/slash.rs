//! Slash commands: their names, their help, and what a line means. Pure.

/// Commands with what they take and what they do, in the order of the help.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("help", "", "List commands and keys"),
    ("model", "[NAME] [EFFORT]", "Show or change the model of this session"),
    ("permissions", "[auto|ask|read-only]", "Show or change what calls may do without asking"),
    ("plan", "", "Switch between planning and building"),
    ("compact", "[FOCUS]", "Summarize the conversation, so that less of it is sent"),
    ("context", "", "Show what fills the model's window"),
    ("new", "", "Begin another session; this one stays as it is"),
    ("clear", "", "The same as /new"),
    ("resume", "[SESSION]", "Continue another session"),
    ("fork", "", "Continue in a copy of this session, from an earlier message"),
    ("rename", "TITLE", "Name this session"),
    ("diff", "", "Show what this session changed in files"),
    ("undo", "", "Restore the files that the last turn changed"),
    ("queue", "[edit|drop] [N]", "Show or change the messages that wait"),
    ("continue", "", "Go on with messages that wait after an interrupt"),
    ("agents", "", "List the agents that the model can start"),
    ("mcp", "", "List the MCP servers"),
    ("skills", "", "List the skills"),
    ("hooks", "", "List the hooks"),
    ("status", "", "Show the session, its settings and its usage"),
    ("cost", "", "Show the tokens and the cost of this session"),
    ("copy", "", "Copy the last answer"),
    ("export", "FILE", "Write the log of this session to a file"),
    ("doctor", "", "Check this machine, the workspace and the provider"),
    ("theme", "[auto|dark|light|plain]", "Change the colors"),
    ("quit", "", "Leave; the session can be continued"),
    ("exit", "", "The same as /quit"),
];

/// Meaning of a line that begins with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    Model {
        name: Option<String>,
        effort: Option<String>,
    },
    Permissions(Option<String>),
    Plan,
    Compact(Option<String>),
    Context,
    New,
    Resume(Option<String>),
    Fork,
    Rename(String),
    Diff,
    Undo,
    Queue(QueueChange),
    Continue,
    Agents,
    Mcp,
    Skills,
    Hooks,
    Status,
    Cost,
    Copy,
    Export(String),
    Doctor,
    Theme(Option<String>),
    Quit,
    /// Not a command: a message, such as one that names a skill or a prompt of a server.
    Message,
    /// The command lacks something, or is close to another name.
    Invalid(String),
}

/// Change of the messages that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueueChange {
    Show,
    /// Takes the message with this number, from 1, back into the editor.
    Edit(usize),
    /// Withdraws the message with this number, from 1.
    Drop(usize),
}

/// Reads a line. A line without a slash at its beginning, and one that names no command, is a message.
pub(super) fn parse(line: &str) -> Slash {
    let Some(rest) = line.strip_prefix('/') else {
        return Slash::Message;
    };
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let words = words.trim();
    let some = || (!words.is_empty()).then(|| words.to_owned());
    let required = |what: &str, command: fn(String) -> Slash| match some() {
        Some(words) => command(words),
        None => Slash::Invalid(format!("/{name} takes {what}")),
    };
    match name {
        "help" | "?" => Slash::Help,
        "model" => {
            let mut parts = words.split_whitespace().map(str::to_owned);
            Slash::Model { name: parts.next(), effort: parts.next() }
        }
        "permissions" => Slash::Permissions(some()),
        "plan" => Slash::Plan,
        "compact" => Slash::Compact(some()),
        "context" => Slash::Context,
        "new" | "clear" => Slash::New,
        "resume" => Slash::Resume(some()),
        "fork" => Slash::Fork,
        "rename" => required("a title", Slash::Rename),
        "diff" => Slash::Diff,
        "undo" => Slash::Undo,
        "queue" => queue(words),
        "continue" => Slash::Continue,
        "agents" => Slash::Agents,
        "mcp" => Slash::Mcp,
        "skills" => Slash::Skills,
        "hooks" => Slash::Hooks,
        "status" => Slash::Status,
        "cost" | "usage" => Slash::Cost,
        "copy" => Slash::Copy,
        "export" => required("a file", Slash::Export),
        "doctor" => Slash::Doctor,
        "theme" => Slash::Theme(some()),
        "quit" | "exit" => Slash::Quit,
        _ => match near(name) {
            Some(close) if words.is_empty() => {
                Slash::Invalid(format!("there is no /{name}; did you mean /{close}?"))
            }
            Some(_) | None => Slash::Message,
        },
    }
}

fn queue(words: &str) -> Slash {
    let mut parts = words.split_whitespace();
    let (verb, number) = (parts.next(), parts.next().and_then(|number| number.parse().ok()));
    Slash::Queue(match (verb, number) {
        (None, _) => QueueChange::Show,
        (Some("edit"), Some(number)) => QueueChange::Edit(number),
        (Some("drop"), Some(number)) => QueueChange::Drop(number),
        _ => return Slash::Invalid("/queue takes nothing, edit N or drop N".to_owned()),
    })
}

/// Returns the command whose name differs in one character.
fn near(name: &str) -> Option<&'static str> {
    let mut names = COMMANDS.iter().map(|(known, ..)| *known);
    names.find(|known| is_one_edit_apart(name, known))
}

fn is_one_edit_apart(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tails = |a: &[char], b: &[char]| {
        a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
    };
    match a.len().abs_diff(b.len()) {
        0 => {
            let wrong = a.iter().zip(&b).filter(|(a, b)| a != b).count();
            wrong == 1
                || wrong == 2 && a.len() >= 4 && {
                    let mut swapped = a.clone();
                    if let [.., _, _] = swapped.get(..same + 2).unwrap_or_default() {
                        swapped.swap(same, same + 1);
                    }
                    swapped == b
                }
        }
        1 => same + tails(&a, &b) >= a.len().min(b.len()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_only_if_it_names_one() {
        assert_eq!(parse("/compact the tests"), Slash::Compact(Some("the tests".to_owned())));
        assert_eq!(parse("/clear"), Slash::New);
        let model = Slash::Model { name: Some("gpt-5".into()), effort: Some("high".into()) };
        assert_eq!(parse("/model  gpt-5 high"), model);
        assert_eq!(parse("/queue drop 2"), Slash::Queue(QueueChange::Drop(2)));
        assert!(matches!(parse("/queue drop"), Slash::Invalid(_)));
        assert!(matches!(parse("/rename"), Slash::Invalid(_)));
        for message in ["hello /help", "/usr/bin/env is missing", "/review the change", "/"] {
            assert_eq!(parse(message), Slash::Message, "{message}");
        }
    }

    #[test]
    fn a_slip_of_one_character_is_pointed_out_and_never_sent() {
        for (slip, command) in
            [("/modle", "model"), ("/helpp", "help"), ("/dif", "diff"), ("/xuit", "quit")]
        {
            let Slash::Invalid(words) = parse(slip) else { panic!("{slip}") };
            assert!(words.ends_with(&format!("/{command}?")), "{words}");
        }
        assert_eq!(parse("/dif between the two"), Slash::Message);
    }

    #[test]
    fn each_listed_command_is_known() {
        for (name, takes, _) in COMMANDS {
            let line = match takes.starts_with(|first: char| first.is_ascii_uppercase()) {
                true => format!("/{name} words"),
                false => format!("/{name}"),
            };
            assert!(!matches!(parse(&line), Slash::Message | Slash::Invalid(_)), "{line}");
        }
    }
}
