//! What kills a log in which an answer that does not have its shape is taken, or asked for again
//! without a reason or an end: laws 8 and 9.

use std::sync::Arc;

use windlass_core::{
    ContextSource, Fact, Item, Limits, Reason, RecordedFact, Seq, Settings, StopReason, TurnOutcome,
};
use windlass_testkit::laws::{law_08_no_sample_without_reason, law_09_limits_hold};

use super::{find, kills_log};

const ONE_RETURN: &str =
    "open shape=1\nsend hello\ntext a\nend stop fault=odd\ntext b\nend stop fault=off";

fn limits_hold(log: &[RecordedFact]) -> windlass_testkit::laws::Held {
    law_09_limits_hold::check(log, &Limits::default())
}

fn settings(log: &mut [RecordedFact]) -> &mut Settings {
    let Fact::SessionOpened(fact) = &mut log[0].fact else {
        panic!("a log begins with its session");
    };
    Arc::make_mut(&mut fact.settings)
}

#[test]
fn law_08_kills_a_return_whose_fault_the_model_is_not_told() {
    let law = law_08_no_sample_without_reason::check;
    kills_log(ONE_RETURN, law, |log| {
        log.remove(find(log, "ContextInjected", 0));
    });
    kills_log(ONE_RETURN, law, |log| {
        let at = find(log, "ContextInjected", 0);
        if let Fact::ContextInjected(fact) = &mut log[at].fact {
            fact.from = ContextSource::InvalidOutput { started: Seq(5), text: "try again".into() };
        }
    });
}

#[test]
fn law_08_kills_a_return_of_an_answer_that_is_whole_or_another() {
    let law = law_08_no_sample_without_reason::check;
    kills_log(ONE_RETURN, law, |log| {
        let at = find(log, "SampleEnded", 0);
        if let Fact::SampleEnded(fact) = &mut log[at].fact {
            fact.fault = None;
        }
    });
    kills_log(ONE_RETURN, law, |log| {
        let at = find(log, "SampleStarted", 1);
        if let Fact::SampleStarted(fact) = &mut log[at].fact {
            fact.reason = Reason::InvalidOutput { started: Seq(4) };
        }
    });
}

#[test]
fn law_09_kills_a_return_too_many() {
    kills_log(ONE_RETURN, limits_hold, |log| {
        if let Some(shape) = &mut settings(log).options.output_schema {
            shape.max_re_asks = 0;
        }
    });
}

#[test]
fn law_09_kills_a_turn_that_gives_up_too_soon() {
    kills_log(ONE_RETURN, limits_hold, |log| {
        if let Some(shape) = &mut settings(log).options.output_schema {
            shape.max_re_asks = 2;
        }
    });
    kills_log(ONE_RETURN, limits_hold, |log| {
        let at = find(log, "SampleEnded", 1);
        if let Fact::SampleEnded(fact) = &mut log[at].fact {
            fact.fault = None;
        }
    });
}

#[test]
fn law_09_kills_plain_success_over_a_faulty_answer() {
    kills_log(ONE_RETURN, limits_hold, |log| {
        let at = find(log, "TurnSettled", 0);
        if let Fact::TurnSettled(fact) = &mut log[at].fact {
            fact.outcome = TurnOutcome::Completed;
        }
    });
}

#[test]
fn law_09_kills_a_fault_where_no_shape_is_asked_for() {
    kills_log(ONE_RETURN, limits_hold, |log| {
        settings(log).options.output_schema = None;
    });
}

const ONE_EMPTY: &str = "send hello\nreasoning hmm\nend stop\ntext a\nend stop";

#[test]
fn law_08_kills_a_re_ask_of_an_answer_that_is_not_empty_or_not_told_so() {
    let law = law_08_no_sample_without_reason::check;
    kills_log(ONE_EMPTY, law, |log| {
        log.remove(find(log, "ContextInjected", 0));
    });
    kills_log(ONE_EMPTY, law, |log| {
        let at = find(log, "ItemAdded", 0);
        if let Fact::ItemAdded(fact) = &mut log[at].fact {
            fact.item = Item::text("hmm");
        }
    });
    kills_log(ONE_EMPTY, law, |log| {
        let at = find(log, "SampleEnded", 0);
        if let Fact::SampleEnded(fact) = &mut log[at].fact {
            fact.stop = StopReason::Length;
        }
    });
    kills_log(ONE_EMPTY, law, |log| {
        let at = find(log, "SampleStarted", 1);
        if let Fact::SampleStarted(fact) = &mut log[at].fact {
            fact.reason = Reason::EmptyAnswer { started: Seq(4) };
        }
    });
}

#[test]
fn law_09_kills_a_re_ask_too_many_of_an_empty_answer() {
    kills_log(ONE_EMPTY, limits_hold, |log| {
        settings(log).limits.empty_answers = 0;
        let at = find(log, "TurnOpened", 0);
        if let Fact::TurnOpened(fact) = &mut log[at].fact {
            fact.limits.empty_answers = 0;
        }
    });
}
