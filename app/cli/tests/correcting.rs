//! A model whose first program is wrong arrives with the next one, by what it was told: in both
//! languages, as calls and as text, for ten kinds of wrong first tries. PTC-Lisp has nine of them:
//! it has no `await`.

#![cfg(all(feature = "javascript", feature = "ptclisp"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Place;
use windlass_testkit::Answer;
use windlass_testkit::http::{Asked, ModelServer, Reply, Script};

/// Result of the task. Only the file of the order shows it.
const TOKEN: &str = "4f2a";

/// Words of the guide that name the inputs and the contract.
const GUIDE: [&str; 3] = ["order", "orderId", "\"token\""];

/// Language of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    PtcLisp,
    JavaScript,
}

/// A wrong first answer, and the words that a report must contain before the model knows better.
struct FirstTry {
    kind: &'static str,
    /// Programs of the answer; prose if there are none.
    programs: &'static [&'static str],
    lesson: &'static [&'static str],
}

const fn first(
    kind: &'static str,
    programs: &'static [&'static str],
    lesson: &'static [&'static str],
) -> FirstTry {
    FirstTry { kind, programs, lesson }
}

impl Language {
    const ALL: [Self; 2] = [Self::PtcLisp, Self::JavaScript];

    fn runtime(self) -> &'static str {
        match self {
            Self::PtcLisp => "ptclisp",
            Self::JavaScript => "javascript",
        }
    }

    fn fence(self, program: &str) -> String {
        let mark = match self {
            Self::PtcLisp => "clojure",
            Self::JavaScript => "javascript",
        };
        format!("```{mark}\n{program}\n```\n")
    }

    /// The program that is right.
    fn right(self) -> &'static str {
        match self {
            Self::PtcLisp => {
                "(let [text (tool/read_file {:path (:orderId data/order)})]\n  \
                 (return {:token (second (re-find #\"is ([0-9a-f]+)\" text))}))"
            }
            Self::JavaScript => {
                "const text = await tools.read_file({ path: data.order.orderId });\n\
                 return { token: text.match(/is ([0-9a-f]+)/)[1] };"
            }
        }
    }

    fn first_tries(self) -> Vec<FirstTry> {
        match self {
            Self::PtcLisp => vec![
                first("wrong key", &["(return {:token (:order-id data/order)})"], &["token"]),
                first("missing input", &["(return {:token data/order_id})"], &["order_id"]),
                first(
                    "unknown function",
                    &["(return {:token (uper-case \"a\")})"],
                    &["upper-case"],
                ),
                first(
                    "unclosed list",
                    &["(return {:token\n  (str \"a\")"],
                    &["line 1", "column 1"],
                ),
                first("print", &["(println \"4f2a\")"], &["4f2a"]),
                first(
                    "tool failure",
                    &["(return {:token (tool/read_file {:path \"doc-9\"})})"],
                    &["doc-9"],
                ),
                first("contract", &["(return \"4f2a\")"], &["\"token\""]),
                first("two programs", &["(+ 1 2)", "(+ 3 4)"], &["Write"]),
                first("prose", &[], &["Write one program"]),
            ],
            Self::JavaScript => vec![
                first("wrong key", &["return { token: data.order.order_id };"], &["token"]),
                first("missing input", &["return { token: data.orderId };"], &["token"]),
                first(
                    "unknown function",
                    &["return { token: await tools.shel({ command: \"ls\" }) };"],
                    &["shel", "shell"],
                ),
                first("unclosed list", &["return {\n  token: \"a\""], &["line "]),
                first(
                    "missing await",
                    &[
                        "const text = tools.read_file({ path: \"doc-1\" });\nreturn { token: text };",
                    ],
                    &["await"],
                ),
                first("print", &["print(\"4f2a\");"], &["4f2a"]),
                first(
                    "tool failure",
                    &["return { token: await tools.read_file({ path: \"doc-9\" }) };"],
                    &["doc-9"],
                ),
                first("contract", &["return \"4f2a\";"], &["\"token\""]),
                first("two programs", &["1 + 2;", "3 + 4;"], &["Write"]),
                first("prose", &[], &["Write one program"]),
            ],
        }
    }
}

/// Answers by what the request shows: the first time wrongly, then rightly if the lesson is there.
fn answer(language: Language, transport: &str, wrong: &FirstTry, asked: &Asked) -> Answer {
    let programs: &[&str] = match asked.said.is_empty() && asked.calls.is_empty() {
        true => wrong.programs,
        false => {
            let guide = asked.instructions.as_deref().unwrap_or_default();
            let results = asked.results.iter().map(|(_, text)| text);
            let reports = results.chain(&asked.context).cloned().collect::<Vec<_>>().join("\n");
            let named = GUIDE.iter().filter(|words| !guide.contains(*words));
            let told = wrong.lesson.iter().filter(|words| !reports.contains(*words));
            let missing: Vec<_> = named.chain(told).collect();
            if !missing.is_empty() {
                let last = asked.results.last().map(|(_, text)| text).or(asked.context.last());
                return Answer::new().text(format!("I was not told {missing:?}, but: {last:?}"));
            }
            &[language.right()]
        }
    };
    let mut answer = Answer::new();
    if programs.is_empty() {
        return answer.text("I will read the file of the order first.");
    }
    if transport == "text" {
        let fences: Vec<String> = programs.iter().map(|source| language.fence(source)).collect();
        return answer.text(fences.join("\nAnd then:\n"));
    }
    for source in programs {
        answer = answer.call("run_program", serde_json::json!({ "source": source }));
    }
    answer
}

/// Runs the task with one wrong first try. Returns what went wrong, if something did.
fn arrive(language: Language, transport: &'static str, at: usize) -> Result<(), String> {
    let place = Place::new();
    std::fs::write(place.file("doc-1"), format!("The token is {TOKEN}.\n")).unwrap();
    std::fs::write(place.file("data.json"), r#"{"order":{"orderId":"doc-1"},"limit":3}"#).unwrap();
    let schema = serde_json::json!({"type": "object", "properties": {"token": {"type": "string"}},
        "required": ["token"], "additionalProperties": false});
    std::fs::write(place.file("answer.json"), schema.to_string()).unwrap();
    let script = Script::respond(move |request| {
        let wrong = &language.first_tries()[at];
        Reply::answer(answer(language, transport, wrong, &request.asked()))
    });
    let server = ModelServer::start(script).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai", "--model", "scripted", "--base-url", &base_url];
    let task = ["run", "What is the token of the order?", "--session", "s", "--max-samples", "5"];
    let program = ["--program", language.runtime(), "--program-transport", transport];
    let files = ["--program-data", "data.json", "--answer-schema", "answer.json"];
    let done = place.run(&[&task[..], &provider, &program, &files].concat());
    let samples = server.samples().len();
    if done.code == 0 && done.out.contains(TOKEN) && samples == 2 {
        return Ok(());
    }
    let log = place.run(&["show", "s"]);
    Err(format!("code {}, {samples} samples: {} {}\n{}", done.code, done.out, done.err, log.out))
}

#[test]
fn a_model_with_a_wrong_first_program_arrives_with_the_second() {
    let mut failures = Vec::new();
    for language in Language::ALL {
        for (at, wrong) in language.first_tries().iter().enumerate() {
            for transport in ["call", "text"] {
                if let Err(why) = arrive(language, transport, at) {
                    failures.push(format!("{language:?} {transport} {}: {why}", wrong.kind));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n\n"));
}
