//! Engines that decide otherwise, each told at the first position that would be another.

use std::sync::Arc;

use windlass_core::{
    CallValidity, Draft, EffectClass, Fact, Incoming, Input, Limits, Phase, RecordedFact, Reject,
    Replacement, Seq, Session, Stage, Verdict, decide,
};

use super::{log, told};

type Decided = Result<Vec<Draft>, Reject>;

/// The first divergence: the position, what stands there, and what would.
#[track_caller]
fn first(
    decide: fn(&Session, &Limits, Incoming<Input>) -> Decided,
    log: &[RecordedFact],
) -> (u64, &'static str, Replacement) {
    let told = told(decide, log);
    assert!(!told.is_same());
    let first = told.divergences.into_iter().next().unwrap();
    (first.seq.0, first.recorded.unwrap_or_default(), first.replacement)
}

const ONE_CALL: &str = "send hello\ncall write {}\nend stop\ndone 0 ok\ntext hi\nend stop";

/// Denies what the permissions allow.
fn strict(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    let mut drafts = decide(session, limits, input)?;
    let is = |draft: &Draft| matches!(draft.fact, Fact::CallDecided(_));
    if let Some(at) = drafts.iter().position(is) {
        drafts.truncate(at + 1);
        for draft in &mut drafts {
            if let Fact::CallDecided(fact) = &mut draft.fact {
                fact.verdict = Verdict::Deny;
            }
        }
    }
    Ok(drafts)
}

#[test]
fn another_verdict_is_told() {
    let log = log(ONE_CALL);
    assert_eq!(first(strict, &log), (7, "CallDecided", Replacement::Content));
}

/// Does not go on by itself after the results of tools.
fn idle(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    let mut drafts = decide(session, limits, input)?;
    let after = |draft: &Draft| matches!(draft.fact, Fact::CallObserved(_));
    if let Some(at) = drafts.iter().position(after) {
        drafts.truncate(at + 1);
    }
    let started = |draft: &Draft| matches!(draft.fact, Fact::SampleStarted(_));
    if drafts.first().is_some_and(started) {
        drafts.clear();
    }
    Ok(drafts)
}

#[test]
fn a_step_that_would_not_be_taken_is_told() {
    let log = log(ONE_CALL);
    assert_eq!(first(idle, &log), (11, "SampleStarted", Replacement::Nothing));
}

/// Waits before it starts a call that changes something, and so starts none.
fn eager_no_more(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    let drafts = decide(session, limits, input)?;
    let effectful = |draft: &Draft| matches!(draft.fact, Fact::CallStarted(_));
    Ok(drafts.into_iter().take_while(|draft| !effectful(draft)).collect())
}

#[test]
fn a_call_that_would_not_start_is_told() {
    let log = log(ONE_CALL);
    assert_eq!(first(eager_no_more, &log), (8, "CallStarted", Replacement::Nothing));
}

/// Asks again at once where a backoff is due.
fn impatient(session: &Session, limits: &Limits, mut input: Incoming<Input>) -> Decided {
    if let Input::SampleEvent { .. } = input.input {
        let mut drafts = decide(session, limits, input)?;
        for draft in &mut drafts {
            if let Fact::SampleCut(fact) = &mut draft.fact
                && fact.retry_at.is_some()
            {
                fact.retry_at = Some(draft.ts);
            }
        }
        return Ok(drafts);
    }
    input.entropy = 0;
    decide(session, limits, input)
}

#[test]
fn another_backoff_is_told_and_another_draw_of_it_is_not() {
    let script = "open seed=7 backoff_ms=1000\nsend hello\nfail server soon\nwait 2000\nfail rate_limit after=10\nwait 4000\ntext hi\nend stop";
    let log = log(script);
    assert!(told(decide, &log).is_same());
    assert_eq!(first(impatient, &log), (6, "SampleCut", Replacement::Content));
    // One millisecond more than the longest backoff.
    let mut late = log.clone();
    let beyond = late[5].ts.plus_ms(1_001);
    if let Fact::SampleCut(fact) = &mut late[5].fact {
        fact.retry_at = Some(beyond);
    }
    assert_eq!(first(decide, &late), (6, "SampleCut", Replacement::Content));
}

/// Refuses to hear anybody while a turn runs.
fn deaf(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    if let Input::Send { .. } = &input.input
        && session.turn().is_some()
    {
        return Err(Reject::Stopping);
    }
    decide(session, limits, input)
}

#[test]
fn an_input_that_would_be_refused_is_told() {
    let log = log("send hello\nsteer and so\ntext hi\nend stop\ntext well\nend stop");
    assert_eq!(first(deaf, &log), (6, "InputQueued", Replacement::Rejected(Reject::Stopping)));
}

/// Lets turns run for as long as they like.
fn patient(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    let mut drafts = decide(session, limits, input)?;
    let over = |draft: &Draft| matches!(draft.fact, Fact::InterruptRequested(_));
    if drafts.first().is_some_and(over) {
        drafts.clear();
    }
    Ok(drafts)
}

/// Nobody says that the time of a turn is over, so nobody could be refused for it.
#[test]
fn a_turn_that_would_run_on_is_told() {
    let log = log("open turn_ms=100\nsend hello\nwait 100");
    assert_eq!(first(patient, &log), (6, "InterruptRequested", Replacement::Nothing));
}

/// Opens turns with no more than three samples.
fn thrifty(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    let limits = limits.within(&(*limits).with(|it| it.samples = 3));
    decide(session, &limits, input)
}

#[test]
fn limits_of_the_process_are_no_divergence_and_other_limits_are() {
    let script = "open ceiling.samples=5 samples=9\nsend hello\ntext hi\nend stop\nsend more";
    let log = log(script);
    assert!(told(decide, &log).is_same());
    assert_eq!(first(thrifty, &log), (3, "TurnOpened", Replacement::Content));
}

/// After a crash runs a call that changes something once more.
fn reckless(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    let mut session = session.clone();
    if let Input::Recover = input.input
        && let Phase::InTurn(turn) = &mut session.phase
        && let Stage::Executing(executing) = &mut turn.stage
    {
        for call in executing.calls.as_mut_slice() {
            if let CallValidity::Valid { effect, .. } = &mut call.validity {
                *effect = EffectClass::Idempotent;
            }
        }
    }
    decide(&session, limits, input)
}

#[test]
fn another_recovery_is_told() {
    let log = log("send hello\ncall write {}\nend stop\ncrash away=5\ntext hi\nend stop");
    assert_eq!(first(reckless, &log), (10, "CallObserved", Replacement::Kind("CallStarted")));
}

/// Has one more thing to say after each turn.
fn talkative(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
    let mut drafts = decide(session, limits, input)?;
    if let Some(last) = drafts.last().cloned()
        && let Fact::TurnSettled(_) = last.fact
    {
        drafts.push(Draft {
            turn: None,
            ts: last.ts,
            cause: None,
            fact: Fact::SettingsChanged(windlass_core::SettingsChanged {
                by: session.owner.clone(),
                settings: Arc::clone(&session.settings),
                key: None,
            }),
        });
    }
    Ok(drafts)
}

#[test]
fn a_fact_more_is_told_by_the_position_that_it_would_have() {
    let log = log("send hello\ntext hi\nend stop\nsend more\ntext hi\nend stop");
    let told = told(talkative, &log);
    let positions = told.divergences.iter().map(|one| (one.seq, one.recorded));
    assert_eq!(positions.collect::<Vec<_>>(), [(Seq(9), None), (Seq(16), None)]);
    let mut facts = told.divergences.iter().map(|one| &one.replacement);
    assert!(facts.all(|fact| *fact == Replacement::Kind("SettingsChanged")));
}

/// One divergence does not make others of what comes after it.
#[test]
fn the_rest_of_a_log_is_judged_on_its_own() {
    let log = log(
        "send hello\ncall write {}\nend stop\ndone 0 ok\ntext hi\nend stop\nsend more\ntext hi\nend stop",
    );
    let told = told(strict, &log);
    assert_eq!(told.different, 1, "{told:?}");
    assert_eq!(told.facts, log.len() as u64);
}
