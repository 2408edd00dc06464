//! What a history tells of what is under way: to hooks, approvers and whoever shows it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use windlass_core::{CallId, FailureKind, History, InputId, PromptItem};
use windlass_testkit::world::{Script, Transitions, run};

fn history(script: &str) -> History {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().history().clone()
}

#[test]
fn an_input_that_waits_is_told_until_it_is_let_in() {
    let input = InputId(2);
    let waits = history("open hooks=prompt_submitted\nsend hello");
    assert_eq!(waits.waiting(input).map(AsRef::as_ref), Some("hello"));
    let let_in = history("open hooks=prompt_submitted\nsend hello\nhook 0 pass");
    assert_eq!(let_in.waiting(input), None);
}

#[test]
fn of_each_call_its_own_arguments_and_observation_are_told() {
    let script = "send hello\ncall read {\"n\":1}\ncall read {\"n\":2}\nend stop\ndone 1 second";
    let history = history(script);
    let (first, second) = (CallId(6), CallId(9));
    assert_eq!(history.arguments(first).as_deref(), Some("{\"n\":1}"));
    assert_eq!(history.arguments(second).as_deref(), Some("{\"n\":2}"));
    assert_eq!(history.arguments(CallId(7)), None);
    assert_eq!(history.observation(first), None);
    assert!(history.observation(second).is_some());
}

#[test]
fn the_latest_answer_is_told_while_it_arrives_and_after() {
    let first = "send hello\ntext one\ncall read {}";
    let one = (String::from("one"), vec![String::from("read")]);
    assert_eq!(history(first).latest_answer(), one);
    let whole = format!("{first}\nend stop\ndone 0 ok");
    assert_eq!(history(&whole).latest_answer(), one);
    let last = format!("{whole}\ntext two\nend stop");
    assert_eq!(history(&last).latest_answer(), (String::from("two"), Vec::new()));
    assert_eq!(history("send hello").latest_answer(), (String::new(), Vec::new()));
}

/// What the model is shown after the input of a turn that is stopped while it answers.
fn shown_of_a_stop(script: &str) -> Vec<String> {
    let history = history(script);
    let shown = history.items().iter().filter_map(|item| match item {
        PromptItem::Text { text, .. } | PromptItem::Context { text } => Some(text.to_string()),
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Refusal { .. }
        | PromptItem::Reasoning { .. }
        | PromptItem::Call { .. }
        | PromptItem::Result { .. }
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => None,
    });
    shown.collect()
}

#[test]
fn text_behind_a_started_call_is_told_with_its_mark() {
    let shown = shown_of_a_stop(
        "send hello\ntext one\ncall write {}\ntext two\ninterrupt person\nfail cancelled never thr\ndone 0 ok",
    );
    let answer = ["one", "two", "thr [cut off here: the turn was interrupted]"];
    assert_eq!(shown[..3], answer);
    assert!(shown[3].contains("The user interrupted"), "{shown:?}");
}

#[test]
fn an_interrupt_is_told_as_what_it_was() {
    let rest = "Its work may be unfinished, and calls that ran may have taken effect. What the user \
                says next decides whether to go on with it.";
    let told = |notice: &str| format!("<context from=\"interrupt\">\n{notice} {rest}\n</context>");
    for (script, mark, notice) in [
        (
            "send hello\ntext one\ninterrupt person\nfail cancelled never two",
            "two [cut off here: the turn was interrupted]",
            "The user interrupted this turn here (reason: enough).",
        ),
        (
            "send hello\ntext one\ninterrupt shutdown\nfail cancelled never two",
            "two [cut off here: the process was shut down]",
            "The process was shut down here; the user did not stop this turn (reason: enough).",
        ),
        (
            "open turn_ms=50\nsend hello\ntext one\nwait 50\nfail cancelled never two",
            "two [cut off here: the time of the turn was over]",
            "The time limit of this turn was reached here; the user did not stop it.",
        ),
        (
            "open child\nsend hello\ntext one\ninterrupt parent\nfail cancelled never two",
            "two [cut off here: the calling session stopped the turn]",
            "The calling session stopped this turn here (reason: enough).",
        ),
    ] {
        let shown = shown_of_a_stop(script);
        assert_eq!(shown, [String::from("one"), mark.to_owned(), told(notice)], "{script}");
    }
}

#[test]
fn a_turn_that_is_stopped_before_its_input_is_let_in_tells_the_model_nothing() {
    let shown = shown_of_a_stop("open hooks=prompt_submitted\nsend hello\ninterrupt person");
    assert_eq!(shown, Vec::<String>::new());
}

#[test]
fn what_was_said_before_the_user_spoke_stands_and_nothing_else() {
    let items = |said: &str| {
        let history = history(&format!("send hello\nsteer wait\nyielded {said}"));
        let texts = history.items().iter().filter_map(|item| {
            let PromptItem::Text { text, .. } = item else {
                return None;
            };
            Some(text.to_string())
        });
        texts.collect::<Vec<_>>()
    };
    let [said] = &*items("so far") else {
        unreachable!("{:?}", items("so far"));
    };
    assert!(said.starts_with("so far") && said.len() > "so far".len());
    assert_eq!(items(""), Vec::<String>::new());
}

#[test]
fn the_attempts_that_failed_are_told_while_their_sample_is_out() {
    let failed = |script: &str| {
        let history = history(&format!("open attempts=4\n{script}"));
        let kinds = history.failed().iter().map(|attempt| attempt.kind);
        kinds.collect::<Vec<_>>()
    };
    let (server, busy) = (FailureKind::Server, FailureKind::Overloaded);
    let first = "send hello\nfail server now";
    assert_eq!(failed("send hello"), []);
    assert_eq!(failed(first), [server]);
    let second = format!("{first}\nfail overloaded now");
    assert_eq!(failed(&second), [server, busy]);
    // They say nothing of the next sample.
    let next = format!("{second}\ncall read {{}}\nend stop\ndone 0 ok");
    assert_eq!(failed(&next), []);
    let again = format!("{next}\nfail server now");
    assert_eq!(failed(&again), [server]);
}
