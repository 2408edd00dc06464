//! Every golden log as a conversation.

use std::collections::BTreeSet;

use windlass_engine::core::{ContentPart, Fact, SampleEntry};
use windlass_engine::ports::codec;
use windlass_terminal::{ColorSupport, plain};
use windlass_testkit::golden;

use super::*;

/// The facts of a golden log.
fn facts(log: &golden::Golden) -> Vec<Arc<RecordedFact>> {
    let lines = log.log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Arc::new(codec::decode(line).unwrap())).collect()
}

/// Text of the lines, without styles.
fn text(lines: &[Line]) -> String {
    plain(lines, ColorSupport::None)
}

#[test]
fn every_golden_log_is_a_conversation_with_each_message_once() {
    let logs = golden::read(&golden::folder()).unwrap();
    assert!(logs.len() >= 40, "{}", logs.len());
    for log in &logs {
        let mut transcript = Transcript::new(Theme::plain(), 80);
        transcript.announce_calls();
        let (mut shown, mut accepted) = (Vec::new(), BTreeSet::new());
        let mut settled = 0;
        for fact in facts(log) {
            if let Fact::InputAccepted(fact) = &fact.fact {
                accepted.insert(fact.input);
            }
            let (lines, signals) = transcript.apply(&Event::Fact(fact.into()));
            shown.extend(lines);
            settled += signals.iter().filter(|one| matches!(one, Signal::Settled(_))).count();
        }
        let text = text(&shown);
        let name = &log.name;
        assert!(!text.contains('\u{1b}'), "{name}: {text}");
        let marks = shown.iter().filter(|line| line.text().starts_with("› ")).count();
        let queued =
            facts(log).iter().filter(|fact| matches!(fact.fact, Fact::InputQueued(_))).count();
        assert!(marks <= queued && marks <= accepted.len(), "{name}: {marks} of {queued}");
        assert_eq!(transcript.is_busy(), transcript.activity(Timestamp(0)).is_some(), "{name}");
        let ends =
            facts(log).iter().filter(|fact| matches!(fact.fact, Fact::TurnSettled(_))).count();
        assert_eq!(settled, ends, "{name}");
    }
}

#[test]
fn a_conversation_may_begin_anywhere_in_a_log() {
    let logs = golden::read(&golden::folder()).unwrap();
    for log in &logs {
        let facts = facts(log);
        for from in [1, facts.len() / 3, facts.len() / 2] {
            let mut transcript = Transcript::new(Theme::plain(), 40);
            for fact in facts.iter().skip(from) {
                transcript.apply(&Event::Fact(fact.clone().into()));
            }
            assert!(transcript.queue().len() <= facts.len(), "{}", log.name);
        }
    }
}

#[test]
fn an_answer_is_shown_once_whether_it_was_streamed_or_not() {
    let logs = golden::read(&golden::folder()).unwrap();
    let mut streamed_any = false;
    for log in &logs {
        let facts = facts(log);
        let whole = play(&facts, false);
        let streamed = play(&facts, true);
        streamed_any |= facts.iter().any(|fact| matches!(fact.fact, Fact::ItemAdded(_)));
        assert_eq!(streamed, whole, "{}", log.name);
    }
    assert!(streamed_any);
}

/// Plays a log; with `streamed`, each text arrives in deltas before its fact.
fn play(facts: &[Arc<RecordedFact>], streamed: bool) -> String {
    let mut transcript = Transcript::new(Theme::plain(), 80);
    let mut lines = Vec::new();
    for (slot, fact) in (0..).zip(facts) {
        let entry = TimelineEntry::of(fact);
        if let (true, TimelineEntry::Sample(SampleEntry::Content { started, part })) =
            (streamed, entry)
            && let ContentPart::Text { text, .. } | ContentPart::Refusal(text) = part
        {
            for piece in text.split_inclusive(' ') {
                let delta = Delta::Text { slot, text: piece.to_owned() };
                lines.extend(transcript.live(&LiveKind::Delta { started, delta }));
            }
        }
        lines.extend(transcript.apply(&Event::Fact(fact.clone().into())).0);
    }
    text(&lines)
}
