//! What a turn is to do: its tools, its model, and what must hold of it besides what is judged of any.

use serde_json::{Value, json};
use windlass_engine::core::{
    Fact, Item, Observation, ObservationStatus, ProgramEnd, ProgramRun, RecordedFact, TurnOutcome,
};
use windlass_testkit::Answer;
use windlass_testkit::crash::Effect;
use windlass_testkit::http::{Reply, Script};

/// The tools' names.
const TOOLS: [&str; 4] = ["look", "keep", "pay", "book"];
/// What the tools note their runs in.
pub(crate) const EFFECTS: &str = "effects";
/// The last words of every turn.
const ANSWER: &str = "Paid.";

/// What a turn is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Three calls, one an answer.
    Calls,
    /// One program that makes six, in a loop and in a parallel form too.
    Program(Language),
}

/// What a program is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    PtcLisp,
    JavaScript,
}

/// Where a program stood when its process died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stood {
    /// It had called nothing yet.
    Before,
    /// It had called something, and nothing that it had called was running.
    Between,
    /// Something that it had called was running.
    Within,
    /// It had ended.
    After,
}

/// A failed call ends it.
const PTCLISP: &str = "\
(def seen (tool/look {}))
(doseq [n [1 2]] (tool/pay {:n n}))
(def kept (pmap (fn [n] (tool/keep {:n n})) [1 2]))
(def booked (tool/book {:n 1}))
[(count kept) seen booked]";

/// It goes on after a failed call.
const JAVASCRIPT: &str = "\
const tried = async call => { try { return await call; } catch (error) { return 'lost'; } };
const seen = await tools.look({});
for (const n of [1, 2]) { await tried(tools.pay({ n })); }
const kept = await Promise.all([1, 2].map(n => tools.keep({ n })));
const booked = await tried(tools.book({ n: 1 }));
memory.kept = kept.length;
[kept.length, seen, booked]";

/// What both of them come to when no call fails.
const VALUE: &str = r#"[2,"look done\n","book done\n"]"#;

/// What both of them call, in this order.
const CALLS: [&str; 6] = [
    "look {}",
    r#"pay {"n":1}"#,
    r#"pay {"n":2}"#,
    r#"keep {"n":1}"#,
    r#"keep {"n":2}"#,
    r#"book {"n":1}"#,
];

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::PtcLisp => "ptclisp",
            Self::JavaScript => "javascript",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::PtcLisp => PTCLISP,
            Self::JavaScript => JAVASCRIPT,
        }
    }
}

impl Task {
    /// The words that only a run of it has.
    pub(crate) fn words(self) -> Vec<&'static str> {
        match self {
            Self::Calls => Vec::new(),
            Self::Program(language) => vec!["--program", language.name()],
        }
    }

    /// Its tools: each notes its run and says the same at each.
    pub(crate) fn tools(self) -> Value {
        match self {
            // One of each class.
            Self::Calls => json!({"tools": [
                tool("look", "read_only", "exclusive"),
                tool("keep", "idempotent", "exclusive"),
                tool("pay", "effectful", "exclusive"),
            ]}),
            // And one that can say what became of a call.
            Self::Program(_) => {
                let mut book = tool("book", "effectful", "parallel");
                let asked = format!(
                    "cat > /dev/null; grep -qx \"book $WINDLASS_IDEMPOTENCY_KEY\" {EFFECTS} && \
                     echo book done || exit 3"
                );
                book["reconcile"] = json!(["sh", "-c", asked]);
                json!({"tools": [
                    tool("look", "read_only", "parallel"),
                    tool("keep", "idempotent", "parallel"),
                    tool("pay", "effectful", "parallel"),
                    book,
                ]})
            }
        }
    }

    /// Its model, which does what it does whatever it is told.
    pub(crate) fn model(self) -> Script {
        match self {
            Self::Calls => calls(),
            Self::Program(language) => Script::respond(move |request| {
                let source = json!({ "source": language.source() }).to_string();
                match request.asked().results.len() {
                    0 => Reply::answer(Answer::new().text("One program does it.").call_as(
                        "call_program",
                        "run_program",
                        source,
                    )),
                    _ => Reply::say(ANSWER),
                }
            }),
        }
    }

    /// Where its program stands in a log; `None` where it has none.
    pub(crate) fn stood(self, log: &[RecordedFact]) -> Option<Stood> {
        match self {
            Self::Calls => return None,
            Self::Program(_) => {}
        }
        let (mut made, mut out, mut ended) = (Vec::new(), 0, false);
        for recorded in log {
            match &recorded.fact {
                Fact::ProgramCalled(_) => made.push(recorded.seq.0),
                Fact::CallStarted(fact) if made.contains(&fact.call.0) => out += 1,
                Fact::CallObserved(fact) if made.contains(&fact.call.0) => out -= 1,
                Fact::ProgramRun(_) => ended = true,
                _ => {}
            }
        }
        Some(match (made.len(), out) {
            _ if ended => Stood::After,
            (0, _) => Stood::Before,
            (_, 0) => Stood::Between,
            (_, _) => Stood::Within,
        })
    }

    /// What is wrong with the log of a settled turn besides what is judged of any.
    pub(crate) fn wrong(self, log: &[RecordedFact]) -> Vec<String> {
        let said = log.iter().rev().find_map(|recorded| match &recorded.fact {
            Fact::ItemAdded(fact) => match &fact.item {
                Item::Text { text, .. } => Some(text.to_string()),
                _ => None,
            },
            _ => None,
        });
        let mut wrong = Vec::new();
        if said.as_deref() != Some(ANSWER) {
            wrong.push(format!("the answer is lost: the last words are {said:?}"));
        }
        let settled = log.iter().rev().find_map(|recorded| match &recorded.fact {
            Fact::TurnSettled(fact) => Some(&fact.outcome),
            _ => None,
        });
        if settled != Some(&TurnOutcome::Completed) {
            wrong.push(format!("the turn is not completed: {settled:?}"));
        }
        match self {
            Self::Calls => {}
            Self::Program(language) => wrong.extend(language.wrong(log)),
        }
        wrong
    }
}

impl Language {
    /// A program calls what it calls once, whatever became of its processes, and where no call was
    /// lost it comes to what it comes to.
    fn wrong(self, log: &[RecordedFact]) -> Vec<String> {
        let (mut made, mut calls, mut lost, mut runs) = (Vec::new(), Vec::new(), 0, Vec::new());
        for recorded in log {
            match &recorded.fact {
                Fact::ProgramCalled(fact) => {
                    made.push(recorded.seq.0);
                    calls.push(format!("{} {}", fact.item.name, fact.item.arguments));
                }
                Fact::CallObserved(fact) if made.contains(&fact.call.0) => {
                    lost += usize::from(is_lost(&fact.observation));
                }
                Fact::ProgramRun(fact) => runs.push(fact),
                _ => {}
            }
        }
        let mut wrong = Vec::new();
        let goes_on = lost == 0 || self == Self::JavaScript;
        let due = match goes_on {
            true => CALLS.len(),
            false => calls.len().min(CALLS.len()),
        };
        if calls != CALLS[..due] {
            wrong.push(format!("with {lost} calls lost it called {calls:?}"));
        }
        match runs[..] {
            [run] if goes_on == is_value(run, lost == 0) && goes_on != is_fault(run) => {}
            _ => wrong.push(format!("with {lost} calls lost it came to {runs:?}")),
        }
        wrong
    }
}

fn is_lost(observation: &Observation) -> bool {
    observation.status != ObservationStatus::Done
}

fn is_value(run: &ProgramRun, whole: bool) -> bool {
    match &run.outcome.end {
        ProgramEnd::Value { value } => !whole || **value == *VALUE,
        _ => false,
    }
}

fn is_fault(run: &ProgramRun) -> bool {
    matches!(&run.outcome.end, ProgramEnd::Fault(fault) if fault.class == "tool_error")
}

/// Reads the tools' notes: each line a tool and a key, and nothing else.
pub(crate) fn noted_effects(text: &str) -> Result<Vec<Effect>, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(format!("the tools' notes end within a line: {text:?}"));
    }
    let effect = |line: &str| {
        let wrong = || format!("a tool noted {line:?}, which is no tool and key");
        let (tool, key) = line.split_once(' ').ok_or_else(wrong)?;
        let known = TOOLS.contains(&tool);
        match known && !key.is_empty() && !key.contains(char::is_whitespace) {
            true => Ok(Effect { tool: tool.to_owned(), key: key.to_owned() }),
            false => Err(wrong()),
        }
    };
    text.lines().map(effect).collect()
}

pub(crate) fn notes_that_do_not_read() {
    assert_eq!(noted_effects("").unwrap(), []);
    let pay = |key: &str| Effect { tool: "pay".to_owned(), key: key.to_owned() };
    let read = noted_effects("pay k1\npay k2\n").unwrap();
    assert_eq!(read, [pay("k1"), pay("k2")]);
    for text in [
        "pay\n",
        "pay \n",
        "pay k1",
        "pay k1\n\n",
        "pay k1 k2\n",
        "k1 pay\n",
        "pay k1\npay\npay k2\n",
    ] {
        assert!(noted_effects(text).is_err(), "{text:?}");
    }
}

fn tool(name: &str, effect: &str, concurrency: &str) -> Value {
    let line = format!("echo {name} $WINDLASS_IDEMPOTENCY_KEY >> {EFFECTS} && echo {name} done");
    json!({
        "name": name,
        "description": format!("Does {name}."),
        "parameters": {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "additionalProperties": false,
        },
        "command": ["sh", "-c", line],
        "effect": effect,
        "concurrency": concurrency,
    })
}

/// A model that uses each tool once.
fn calls() -> Script {
    Script::respond(|request| {
        let call = |name: &str| Answer::new().call_as(format!("call_{name}"), name, "{}");
        match request.asked().results.len() {
            0 => {
                Reply::answer(Answer::new().text("Let me look.").call_as("call_look", "look", "{}"))
            }
            1 => Reply::answer(call("keep")),
            2 => Reply::answer(call("pay")),
            _ => Reply::say(ANSWER),
        }
    })
}
