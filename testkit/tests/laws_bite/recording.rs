//! What kills a wrong log, a wrong text form and a wrong assembler: laws 5, 6, 8 and 12.

use windlass_core::{
    AssemblerLimits, AssemblerOutput, Fact, InputId, Reason, RecordedFact, StopReason, StreamEvent,
    Timestamp,
};
use windlass_ports::codec::{self, CodecError};
use windlass_testkit::laws::law_06_chunking_does_not_matter::{self as law_06, Answer, assemble};
use windlass_testkit::laws::{
    law_05_one_observation_a_call, law_08_no_sample_without_reason, law_12_facts_round_trip,
};

use super::{ONE_CALL, TWO_CALLS, find, kills_log, log};

#[test]
fn law_05_kills_lost_doubled_and_late_observations() {
    let law = law_05_one_observation_a_call::check;
    kills_log(ONE_CALL, law, |log| {
        log.remove(find(log, "CallObserved", 0));
    });
    kills_log(ONE_CALL, law, |log| {
        let at = find(log, "CallObserved", 0);
        log.insert(at, log[at].clone());
    });
    kills_log(ONE_CALL, law, |log| {
        let late = log.remove(find(log, "CallObserved", 0));
        log.push(late);
    });
}

#[test]
fn law_06_kills_an_assembler_that_drops_a_piece() {
    fn drops_short_pieces(caps: AssemblerLimits, events: &[StreamEvent]) -> Answer {
        let short = |event: &&StreamEvent| matches!(event, StreamEvent::Text { text, .. } if text.len() < 2);
        let kept: Vec<StreamEvent> = events.iter().filter(|event| !short(event)).cloned().collect();
        assemble(caps, &kept)
    }
    let whole = [text("hello"), done(), finished()];
    let cut = law_06::cut(&whole, 2);
    law_06::check(assemble, AssemblerLimits::default(), &whole, &cut).unwrap();
    law_06::check(drops_short_pieces, AssemblerLimits::default(), &whole, &cut).unwrap_err();
}

#[test]
fn law_06_kills_an_assembler_that_takes_a_cut_for_an_end() {
    fn always_ends(caps: AssemblerLimits, events: &[StreamEvent]) -> Answer {
        let mut answer = assemble(caps, events);
        answer.parts.push(AssemblerOutput::Ended {
            stop: StopReason::Stop,
            usage: None,
            response_id: None,
        });
        answer
    }
    let broken_off = [text("hello"), done()];
    law_06::check(assemble, AssemblerLimits::default(), &broken_off, &broken_off).unwrap();
    law_06::check(always_ends, AssemblerLimits::default(), &broken_off, &broken_off).unwrap_err();
}

fn text(text: &str) -> StreamEvent {
    StreamEvent::Text { slot: 0, text: text.into() }
}

fn done() -> StreamEvent {
    StreamEvent::Done { slot: 0, text: None, opaque: None }
}

fn finished() -> StreamEvent {
    StreamEvent::Finished { reason: StopReason::Stop }
}

#[test]
fn law_08_kills_samples_and_turns_without_evidence() {
    let law = law_08_no_sample_without_reason::check;
    let reason = |log: &mut Vec<RecordedFact>, nth, because| {
        let at = find(log, "SampleStarted", nth);
        if let Fact::SampleStarted(fact) = &mut log[at].fact {
            fact.reason = because;
        }
    };
    let mut log = log(TWO_CALLS);
    law(&log).unwrap();
    for (nth, because) in [
        (0, Reason::ToolResults),
        (0, Reason::Input { input: InputId(1) }),
        (1, Reason::Retry),
        (1, Reason::Unfinished),
    ] {
        let mut tampered = log.clone();
        reason(&mut tampered, nth, because);
        law(&tampered).unwrap_err();
    }
    // The second sample comes before the last observation.
    let at = find(&log, "SampleStarted", 1);
    log.swap(at, at - 1);
    law(&log).unwrap_err();
}

/// The last moment at which the retry that a cut grants is not due.
fn before(cut: &RecordedFact) -> Timestamp {
    let Fact::SampleCut(fact) = &cut.fact else { panic!("{cut:?}") };
    Timestamp(fact.retry_at.unwrap().0 - 1)
}

#[test]
fn law_08_kills_a_retry_that_was_not_granted_or_does_not_wait() {
    let law = law_08_no_sample_without_reason::check;
    let script = "send hello\nfail server soon\nwait 1000";
    kills_log(script, law, |log| {
        let at = find(log, "SampleCut", 0);
        if let Fact::SampleCut(fact) = &mut log[at].fact {
            fact.retry_at = None;
        }
    });
    kills_log(script, law, |log| {
        let at = find(log, "SampleStarted", 1);
        // A moment before the retry is due.
        log[at].ts = before(&log[at - 1]);
    });
}

#[test]
fn law_08_kills_a_turn_that_jumps_the_queue() {
    let law = law_08_no_sample_without_reason::check;
    kills_log("send a\nsend b\nsend c\ntext hi\nend stop", law, |log| {
        let last = InputId(log[find(log, "InputQueued", 2)].seq.0);
        let at = find(log, "TurnOpened", 1);
        if let Fact::TurnOpened(fact) = &mut log[at].fact {
            fact.reason = Reason::Input { input: last };
        }
    });
}

#[test]
fn law_12_kills_a_field_that_is_not_written() {
    fn omits(recorded: &RecordedFact) -> Result<Vec<u8>, CodecError> {
        let mut recorded = recorded.clone();
        if let Fact::SampleCut(fact) = &mut recorded.fact {
            fact.retry_at = None;
        }
        codec::encode(&recorded)
    }
    let log = log("send hello\nfail server soon");
    for recorded in &log {
        law_12_facts_round_trip::check(codec::encode, recorded).unwrap();
    }
    let cut = &log[find(&log, "SampleCut", 0)];
    law_12_facts_round_trip::check(omits, cut).unwrap_err();
}
