//! Tests of the reading model, with requests made by hand.

use serde_json::json;

use super::*;
use crate::answer::{Answer, Part};
use crate::http::Asked;

fn task() -> ReadingTask {
    ReadingTask::new(2, 2_000, ReadingOrder::OneByOne)
}

/// A request that shows results of reads, each with the id of its call.
fn asked(results: &[(&str, &str, &str)]) -> Asked {
    let mut asked = Asked {
        user: Some(task().prompt()),
        tools: vec!["read_document".into(), "read_output".into()],
        ..Asked::default()
    };
    for (id, name, result) in results {
        let call = (*id, "read_document", json!({ "name": name }).to_string());
        asked.calls.push((call.0.into(), call.1.into(), call.2));
        asked.results.push(((*id).into(), (*result).into()));
    }
    asked
}

fn calls(answer: &Answer) -> Vec<(String, serde_json::Value)> {
    let calls = answer.parts().iter().filter_map(|part| match part {
        Part::Call { name, arguments, .. } => {
            Some((name.clone(), serde_json::from_str(arguments).unwrap()))
        }
        Part::Text(_) | Part::Refusal(_) | Part::Reasoning { .. } => None,
    });
    calls.collect()
}

fn text(answer: &Answer) -> String {
    let texts = answer.parts().iter().map(|part| match part {
        Part::Text(text) => text.as_str(),
        Part::Refusal(_) | Part::Reasoning { .. } | Part::Call { .. } => "",
    });
    texts.collect()
}

fn read(name: &str) -> (String, serde_json::Value) {
    ("read_document".into(), json!({ "name": name }))
}

#[test]
fn documents_have_their_length_and_one_token_each() {
    for bytes in [200, 1_000, 64 * 1024] {
        let task = ReadingTask::new(3, bytes, ReadingOrder::Together);
        for name in task.names() {
            let text = task.text(&name);
            assert_eq!(text.len(), bytes, "{name}");
            assert_eq!(text.matches("The token of ").count(), 1, "{name}");
            assert_eq!(text, task.text(&name));
        }
        let all: String = task.names().iter().map(|name| task.text(name)).collect();
        assert_eq!(task.check(&all), Ok(()));
        assert!(task.check(&task.prompt()).is_err(), "the prompt gives nothing away");
    }
}

#[test]
fn it_reads_in_order_notes_what_it_sees_and_reports() {
    let model = ReadingModel::new();
    let first = model.answer(&asked(&[]));
    assert_eq!(calls(&first), [read("doc-1")]);
    let one = task().text("doc-1");
    let mut seen = asked(&[("a", "doc-1", &one)]);
    let second = model.answer(&seen);
    assert_eq!(calls(&second), [read("doc-2")]);
    assert!(text(&second).starts_with("The token of doc-1 is "), "{}", text(&second));
    // The document has left the conversation, and the note is there.
    (seen.calls, seen.results) = (Vec::new(), Vec::new());
    seen.said.push(text(&second));
    assert_eq!(calls(&model.answer(&seen)), [read("doc-2")]);
    seen.context.push(task().text("doc-2"));
    let last = model.answer(&seen);
    assert_eq!(calls(&last), []);
    assert_eq!(task().check(&text(&last)), Ok(()));
}

#[test]
fn what_is_nowhere_to_be_seen_is_read_again_and_then_given_up() {
    let mut seen = asked(&[]);
    for _ in 0..2 {
        let answer = ReadingModel::new().tries(2).answer(&seen);
        assert_eq!(calls(&answer), [read("doc-1")]);
        seen.said.push(text(&answer));
    }
    let answer = ReadingModel::new().tries(2).answer(&seen);
    assert_eq!(calls(&answer), [read("doc-2")], "the first one is given up");
    seen.said.extend([text(&answer), text(&answer)]);
    let answer = ReadingModel::new().tries(2).answer(&seen);
    assert!(text(&answer).contains("I gave up on doc-2"), "{}", text(&answer));
    assert!(task().check(&text(&answer)).is_err());
}

#[test]
fn it_follows_the_words_of_a_result_that_is_not_whole() {
    let pattern = "The token of doc-1 is";
    let search = |arguments| [("read_output".to_owned(), arguments)];
    let next =
        |result: &str| calls(&ReadingModel::new().answer(&asked(&[("id-1", "doc-1", result)])));
    let named = "head [more: read_output {\"call\":\"@7\"}, with a pattern] tail";
    assert_eq!(next(named), search(json!({ "call": "@7", "pattern": pattern })));
    let unnamed = "[2000 bytes of output were cleared]";
    assert_eq!(next(unnamed), search(json!({ "call": "id-1", "pattern": pattern })));
    let page = "line\n[lines 1 to 1 of 9; go on with offset 2]";
    let on = json!({ "name": "doc-1", "offset": 2 });
    assert_eq!(next(page), [("read_document".to_owned(), on)]);
    assert_eq!(next("nothing of that kind"), [read("doc-2")], "it was all of it");

    let mut blind = asked(&[("id-1", "doc-1", unnamed)]);
    blind.tools.pop();
    assert_eq!(calls(&ReadingModel::new().answer(&blind)), [read("doc-1")]);
}

#[test]
fn together_means_all_in_one_answer() {
    let task = ReadingTask::new(3, 1_000, ReadingOrder::Together).in_shell();
    let mut seen = Asked { user: Some(task.prompt()), ..Asked::default() };
    let answer = ReadingModel::new().answer(&seen);
    let cat = |name| ("shell".to_owned(), json!({ "command": format!("cat {name}") }));
    assert_eq!(calls(&answer), ["doc-1", "doc-2", "doc-3"].map(cat));
    seen.user = Some("Hello.".into());
    seen.tools.push("shell".into());
    assert_eq!(text(&ReadingModel::new().answer(&seen)), "I was not shown what to do.");
}

#[test]
fn a_summary_has_the_tokens_that_are_shown_and_no_other() {
    let seen = Asked { context: vec![task().text("doc-1")], ..Asked::default() };
    let summary = text(&ReadingModel::new().answer(&seen));
    assert_eq!(windlass_core::parse_summary(&summary).as_deref(), Ok(summary.trim_end()));
    assert!(summary.contains("The token of doc-1 is "));
    assert!(!summary.contains("doc-2"));
}

/// The source of an answer's only program, by a call.
fn source(answer: &Answer) -> String {
    let calls = calls(answer);
    let [(name, arguments)] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(name, "run_program");
    arguments["source"].as_str().unwrap().to_owned()
}

#[test]
fn where_programs_are_asked_for_it_reads_searches_and_returns_by_programs() {
    for (guide, read, search, result) in [
        (
            "You answer with a JavaScript program, in one fence",
            "await tools.read_document({\"name\":\"doc-1\"})",
            "(await tools.read_document({\"name\":\"doc-1\"})).split(\"\\n\")\
             .filter((line) => line.includes(\"The token of doc-1 is\"))",
            "return \"Done.\\n",
        ),
        (
            "# Programs in PTC-Lisp",
            "(tool/read_document {:name \"doc-1\"})",
            "(filter #(includes? % \"The token of doc-1 is\") \
             (split-lines (tool/read_document {:name \"doc-1\"})))",
            "(return \"Done.\\n",
        ),
    ] {
        let mut seen = asked(&[]);
        seen.tools = vec!["run_program".into()];
        seen.instructions = Some(guide.into());
        let first = ReadingModel::new().answer(&seen);
        assert_eq!((source(&first).as_str(), text(&first).as_str()), (read, "Reading doc-1.\n"));
        seen.said.push(text(&first));
        seen.results.push(("a".into(), "The program ended with this value: cut".into()));
        assert_eq!(source(&ReadingModel::new().answer(&seen)), search);
        let both = ["doc-1", "doc-2"].map(|name| task().text(name)).concat();
        seen.results.push(("b".into(), both));
        let last = source(&ReadingModel::new().answer(&seen));
        assert!(last.starts_with(result), "{last}");

        // Without a tool, the program is in the text, and its end in a frame.
        (seen.tools, seen.results) = (Vec::new(), Vec::new());
        seen.said.clear();
        let first = text(&ReadingModel::new().answer(&seen));
        assert!(first.starts_with("Reading doc-1.\n```"), "{first}");
        assert!(first.ends_with(&format!("\n{read}\n```\n")), "{first}");
        seen.said.push(first);
        let end = task().text("doc-1");
        seen.context.push(format!("<context from=\"program\">\n{end}\n</context>"));
        let second = text(&ReadingModel::new().answer(&seen));
        assert!(
            second.starts_with("The token of doc-1 is "),
            "it notes what it was shown: {second}"
        );
    }
}
