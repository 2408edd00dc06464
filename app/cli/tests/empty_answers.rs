//! Empty answers: the model is asked once more, with every protocol, before the turn ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Done, Place, count};
use windlass_testkit::Answer;
use windlass_testkit::http::grammar::{ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, Profile};
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Each protocol: name of the provider, model, variable of its key, grammar of its requests.
const PROVIDERS: [(&str, &str, &str, &Profile); 3] = [
    ("openai-chat", "gpt-5", "OPENAI_API_KEY", &OPENAI_CHAT),
    ("openai", "gpt-5", "OPENAI_API_KEY", &OPENAI_RESPONSES),
    ("anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY", &ANTHROPIC),
];

fn run(
    place: &Place,
    provider: (&str, &str, &str, &'static Profile),
    replies: Vec<Answer>,
) -> Done {
    let (name, model, key, profile) = provider;
    let replies = replies.into_iter().map(|answer| Reply::answer(answer.tokens(10, 5)));
    let server = ModelServer::start(Script::list(replies).strict_as(profile)).unwrap();
    let base_url = server.base_url();
    let words = ["run", "hello", "--session", "s", "--provider", name, "--model", model];
    let mut command = place.command(&words);
    command.args(["--base-url", &base_url]).env(key, "sk-test");
    common::done(command.output().unwrap())
}

fn reasoning() -> Answer {
    Answer::new().sealed_reasoning("hmm", "c2VhbGVkLA")
}

#[test]
fn an_empty_answer_is_asked_once_more() {
    for provider in PROVIDERS {
        for empty in [Answer::new(), reasoning()] {
            let place = Place::new();
            let run = run(&place, provider, vec![empty, Answer::new().text("Hi!")]);
            assert_eq!((run.code, run.out.as_str()), (0, "Hi!\n"), "{}: {}", provider.0, run.err);
            let log = place.log("s");
            assert_eq!(count(&log, "SampleStarted"), 2);
            assert_eq!(log.last().unwrap()["body"]["spent"]["samples"], 2);
        }
    }
}

#[test]
fn two_empty_answers_end_the_turn_without_an_answer() {
    for provider in PROVIDERS {
        let place = Place::new();
        let run = run(&place, provider, vec![Answer::new(), reasoning()]);
        assert_eq!((run.code, run.out.as_str()), (6, ""), "{}: {}", provider.0, run.err);
        assert!(run.err.contains("the model ended without an answer"), "{}", run.err);
        let log = place.log("s");
        assert_eq!(count(&log, "SampleStarted"), 2);
        assert_eq!(log.last().unwrap()["body"]["outcome"], "no_answer");
    }
}
