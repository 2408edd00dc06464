//! Recognises the request in a prompt.

use serde_json::Value;

/// The most steps that a prompt may ask for.
const TIMES: usize = 1_000;

/// The most steps of a plan.
const STEPS: usize = 20;

/// The most choices of a question.
const CHOICES: usize = 9;

/// The most words that are said slowly: with the pause between them they take five minutes.
const SLOW_WORDS: usize = 6_000;

/// Request that a prompt makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// To look at the folder.
    Folder,
    /// To read a file.
    Read { path: String },
    /// To search the files.
    Search { pattern: String },
    /// To run a command.
    Shell { command: String },
    /// To write a file.
    Write { path: String, content: String },
    /// Something that no program does.
    Direct(Direct),
    /// To call one tool several times.
    Repeat(Repeat),
    /// To say a text, slowly.
    Slowly { text: String },
    /// Something that has the form of a command and is none.
    Unclear { why: String },
    /// Greets and explains: nothing was recognised.
    Greet,
}

/// Request that is done by single calls, or by an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Direct {
    /// To replace a text in a file.
    Edit { path: String, old: String, new: String },
    /// To write a plan, and to follow it.
    Steps { steps: Vec<String> },
    /// To ask the user.
    Ask { question: String, choices: Vec<String> },
    /// To show what an answer may look like.
    Markdown,
}

/// One tool, several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeat {
    /// Number of calls.
    pub(super) times: usize,
    /// True if all at once.
    pub(super) together: bool,
    /// Name of the tool.
    pub(super) tool: String,
    arguments: String,
}

impl Repeat {
    /// The arguments of a step, from 1.
    pub(super) fn arguments_of(&self, step: usize) -> String {
        self.arguments.replace("{step}", &step.to_string())
    }
}

impl Plan {
    /// Reads a prompt. The forms with a colon come first: they say most exactly what is meant.
    pub(super) fn of(prompt: &str) -> Self {
        let prompt = prompt.trim();
        let plan = slowly(prompt)
            .or_else(|| repeat(prompt))
            .or_else(|| write(prompt))
            .or_else(|| edit(prompt))
            .or_else(|| steps(prompt))
            .or_else(|| ask(prompt))
            .or_else(|| markdown(prompt))
            .or_else(|| shell(prompt))
            .or_else(|| search(prompt))
            .or_else(|| read(prompt))
            .or_else(|| folder(prompt));
        plan.unwrap_or(Self::Greet)
    }
}

/// Reads the prompt `slowly: TEXT`.
fn slowly(prompt: &str) -> Option<Plan> {
    let text = after(prompt, "slowly:")?;
    if text.is_empty() || text.split_whitespace().count() > SLOW_WORDS {
        let why = format!("I say between 1 and {SLOW_WORDS} words slowly.");
        return Some(Plan::Unclear { why });
    }
    Some(Plan::Slowly { text: text.into() })
}

/// `repeat N: TOOL JSON` and `together N: TOOL JSON`.
fn repeat(prompt: &str) -> Option<Plan> {
    let (together, rest) = match (after(prompt, "repeat "), after(prompt, "together ")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => return None,
    };
    let (times, call) = rest.split_once(':')?;
    let times: usize = times.trim().parse().ok()?;
    if times == 0 || times > TIMES {
        let why = format!("I repeat a call between 1 and {TIMES} times.");
        return Some(Plan::Unclear { why });
    }
    let call = call.trim();
    let (tool, arguments) = call.split_once(char::is_whitespace).unwrap_or((call, "{}"));
    let repeat = Repeat {
        times,
        together,
        tool: tool.trim_matches('`').into(),
        arguments: arguments.trim().into(),
    };
    match serde_json::from_str(&repeat.arguments_of(1)) {
        Ok(Value::Object(_)) => Some(Plan::Repeat(repeat)),
        Ok(_) => Some(Plan::Unclear { why: "The arguments of a tool are a JSON object.".into() }),
        Err(error) => Some(Plan::Unclear { why: format!("The arguments are not JSON: {error}.") }),
    }
}

/// Reads the prompt `write PATH: TEXT`.
fn write(prompt: &str) -> Option<Plan> {
    let (path, content) = after(prompt, "write ")?.split_once(':')?;
    let path = path.trim().trim_matches('`').trim();
    if path.is_empty() || path.contains('\n') {
        return None;
    }
    let content = content.strip_prefix(' ').unwrap_or(content).to_owned();
    Some(Plan::Write { path: path.into(), content: content + "\n" })
}

/// Reads the prompt `edit PATH: OLD => NEW`.
fn edit(prompt: &str) -> Option<Plan> {
    let (path, change) = after(prompt, "edit ")?.split_once(':')?;
    let (old, new) = change.split_once("=>")?;
    let [path, old, new] = [path, old, new].map(|part| part.trim().trim_matches('`'));
    let is_edit = !path.is_empty() && !old.is_empty() && !path.contains('\n');
    let edit = || Direct::Edit { path: path.into(), old: old.into(), new: new.into() };
    is_edit.then(|| Plan::Direct(edit()))
}

/// Reads the prompt `plan: STEP; STEP; ..`.
fn steps(prompt: &str) -> Option<Plan> {
    let steps = parts(after(prompt, "plan:")?, ';');
    Some(match steps.is_empty() || steps.len() > STEPS {
        true => Plan::Unclear { why: format!("A plan has between 1 and {STEPS} steps.") },
        false => Plan::Direct(Direct::Steps { steps }),
    })
}

/// Reads the prompt `ask: QUESTION | CHOICE | ..`.
fn ask(prompt: &str) -> Option<Plan> {
    let mut parts = parts(after(prompt, "ask:")?, '|').into_iter();
    let question = parts.next();
    let choices: Vec<String> = parts.take(CHOICES).collect();
    Some(match question {
        Some(question) => Plan::Direct(Direct::Ask { question, choices }),
        None => Plan::Unclear { why: "A question has at least one word.".into() },
    })
}

/// Reads the prompt `show markdown`.
fn markdown(prompt: &str) -> Option<Plan> {
    let rest = after(prompt, "show markdown")?;
    rest.is_empty().then_some(Plan::Direct(Direct::Markdown))
}

fn parts(text: &str, mark: char) -> Vec<String> {
    text.split(mark).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `run: COMMAND` to the end of its line, or ``run `COMMAND` ``.
fn shell(prompt: &str) -> Option<Plan> {
    let lower = prompt.to_ascii_lowercase();
    for (at, _) in lower.match_indices("run") {
        let apart = lower.get(..at)?.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let rest = prompt.get(at + "run".len()..)?.trim_start_matches(' ');
        let command = match rest.strip_prefix(':') {
            Some(line) => line.lines().next(),
            None => rest.strip_prefix('`').and_then(|rest| rest.split_once('`')).map(|(c, _)| c),
        };
        match command.map(|command| command.trim().trim_matches('`').trim()) {
            Some(command) if apart && !command.is_empty() => {
                return Some(Plan::Shell { command: command.into() });
            }
            Some(_) | None => {}
        }
    }
    None
}

/// `search PATTERN`, `search for "PATTERN"`, `grep PATTERN`, `find "PATTERN"`.
fn search(prompt: &str) -> Option<Plan> {
    let quoted = between(prompt, '"').or_else(|| between(prompt, '`'));
    let pattern = match after(prompt, "search ").or_else(|| after(prompt, "grep ")) {
        Some(rest) => quoted.unwrap_or_else(|| after(rest, "for ").unwrap_or(rest).trim()),
        None => after(prompt, "find ").and(quoted)?,
    };
    (!pattern.is_empty()).then(|| Plan::Search { pattern: pattern.into() })
}

/// A word that asks to read, and one that looks like a file.
fn read(prompt: &str) -> Option<Plan> {
    let asks = words(prompt).any(|word| READ.contains(&word.to_ascii_lowercase().as_str()));
    let path = words(prompt).find(|word| looks_like_a_file(word));
    path.filter(|_| asks).map(|path| Plan::Read { path: path.into() })
}

/// A word about the folder.
fn folder(prompt: &str) -> Option<Plan> {
    let about = words(prompt).any(|word| FOLDER.contains(&word.to_ascii_lowercase().as_str()));
    about.then_some(Plan::Folder)
}

const READ: [&str; 12] = [
    "read",
    "open",
    "show",
    "cat",
    "print",
    "view",
    "summarise",
    "summarize",
    "explain",
    "describe",
    "what",
    "what's",
];

const FOLDER: [&str; 20] = [
    "folder",
    "folders",
    "directory",
    "directories",
    "dir",
    "file",
    "files",
    "project",
    "repo",
    "repository",
    "workspace",
    "codebase",
    "code",
    "crate",
    "package",
    "readme",
    "here",
    "list",
    "ls",
    "look",
];

/// Returns the text after a leading word, in any case.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.get(..word.len())?;
    start
        .eq_ignore_ascii_case(word)
        .then(|| text.get(word.len()..).unwrap_or_default().trim_start())
}

/// Returns the text between the first two marks.
fn between(text: &str, mark: char) -> Option<&str> {
    let (_, rest) = text.split_once(mark)?;
    let (inside, _) = rest.split_once(mark)?;
    Some(inside)
}

/// The words of a text without the punctuation around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mark =
        |c: char| matches!(c, '@' | '`' | '"' | '(' | ')' | ',' | ';' | ':' | '?' | '!' | '*');
    text.split_whitespace().map(move |word| {
        let word = word.trim_matches(mark).trim_end_matches('.');
        word.trim_matches(mark)
    })
}

fn looks_like_a_file(word: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+');
    let inner = word.trim_start_matches('.').contains('.') || word.contains('/');
    let letters = word.contains(char::is_alphabetic);
    inner && letters && !word.contains("//") && word.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_prompts() {
        let shell = |command: &str| Plan::Shell { command: command.into() };
        let read = |path: &str| Plan::Read { path: path.into() };
        let search = |pattern: &str| Plan::Search { pattern: pattern.into() };
        for (prompt, plan) in [
            ("What is in this folder?", Plan::Folder),
            ("Tell me about the project.", Plan::Folder),
            ("List everything", Plan::Folder),
            ("run: echo a: b", shell("echo a: b")),
            ("Please run `ls -l | wc` now", shell("ls -l | wc")),
            ("please RUN: `true`\nthanks", shell("true")),
            ("rerun: x", Plan::Greet),
            ("read README.md", read("README.md")),
            ("What does src/lib.rs do?", read("src/lib.rs")),
            ("show me `.gitlab-ci.yml`.", read(".gitlab-ci.yml")),
            ("what is 3.14?", Plan::Greet),
            ("search fn main", search("fn main")),
            ("Search for \"a b\" everywhere", search("a b")),
            ("find `TODO`", search("TODO")),
            ("hello", Plan::Greet),
            ("show markdown", Plan::Direct(Direct::Markdown)),
            (
                "edit a.txt: one => two",
                Plan::Direct(Direct::Edit {
                    path: "a.txt".into(),
                    old: "one".into(),
                    new: "two".into(),
                }),
            ),
            ("edit a.txt", Plan::Greet),
            (
                "plan: look; mend it;",
                Plan::Direct(Direct::Steps { steps: vec!["look".into(), "mend it".into()] }),
            ),
            (
                "Ask: which one? | left | right",
                Plan::Direct(Direct::Ask {
                    question: "which one?".into(),
                    choices: vec!["left".into(), "right".into()],
                }),
            ),
            ("", Plan::Greet),
            (
                "write notes/a.txt: one: two",
                Plan::Write { path: "notes/a.txt".into(), content: "one: two\n".into() },
            ),
        ] {
            assert_eq!(Plan::of(prompt), plan, "{prompt}");
        }
    }

    #[test]
    fn repeats_exactly_what_is_given() {
        let Plan::Repeat(repeat) = Plan::of(r#"repeat 5: count {"b": {step}, "a": "x"}"#) else {
            panic!("not a repetition");
        };
        assert_eq!((repeat.times, repeat.tool.as_str(), repeat.together), (5, "count", false));
        assert_eq!(repeat.arguments_of(3), r#"{"b": 3, "a": "x"}"#);
        let Plan::Repeat(repeat) = Plan::of("Together 2: `count`") else {
            panic!("not a repetition");
        };
        assert_eq!((repeat.arguments_of(1).as_str(), repeat.together), ("{}", true));
        for unclear in
            ["repeat 0: count", "repeat 1001: count", "repeat 2: count {", "repeat 2: count []"]
        {
            assert!(matches!(Plan::of(unclear), Plan::Unclear { .. }), "{unclear}");
        }
    }
}
