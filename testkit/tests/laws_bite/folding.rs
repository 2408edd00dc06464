//! What kills a wrong fold, a wrong `desired_effects`, a wrong `deadline` and a wrong history: laws 1 to 4, 10,
//! 11 and 17.

use std::sync::Arc;

use windlass_core::{
    Demand, DesiredEffect, Digest, Fact, History, Hold, Incoming, Input, InvalidFact, Limits,
    Lineage, RecordedFact, Session, Stage, Timestamp, decide, desired_effects, evolve,
};
use windlass_testkit::laws::{law_10_prompts_extend, law_11_finishing_order_does_not_matter};
use windlass_testkit::world::Transitions;

use super::{Decided, ONE_CALL, TWO_CALLS, find, kills, kills_log, log, needs_nothing};

#[test]
fn law_01_kills_a_state_that_no_fact_made() {
    fn lifts_the_hold(session: Session, fact: &RecordedFact) -> Result<Session, InvalidFact> {
        let mut session = evolve(session, fact)?;
        session.hold = Hold::Free;
        Ok(session)
    }
    let evolve = lifts_the_hold;
    let script = "send hello\ninterrupt person\nfail cancelled never";
    kills(1, Transitions { evolve, ..Transitions::CORE }, script);
}

#[test]
fn law_02_kills_a_deadline_that_forgets_the_backoff() {
    fn never(_: &Session) -> Option<Timestamp> {
        None
    }
    let deadline = never;
    kills(2, Transitions { deadline, ..Transitions::CORE }, "send hello\nfail server soon");
}

#[test]
fn law_02_kills_a_deadline_that_comes_late() {
    fn late(session: &Session) -> Option<Timestamp> {
        windlass_core::deadline(session).map(|at| at.plus_ms(1))
    }
    let deadline = late;
    let mutant = Transitions { deadline, ..Transitions::CORE };
    kills(2, mutant, "send hello\ninterrupt person");
}

#[test]
fn law_02_kills_a_tick_that_does_nothing() {
    fn deaf(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
        if input.input == Input::Tick {
            return Ok(Vec::new());
        }
        decide(session, limits, input)
    }
    kills(2, Transitions { decide: deaf, ..Transitions::CORE }, "send hello\nfail server soon");
}

#[test]
fn law_03_kills_an_owed_that_forgets_a_call() {
    fn first_only(session: &Session) -> Vec<DesiredEffect> {
        desired_effects(session).into_iter().take(1).collect()
    }
    kills(3, Transitions { desired_effects: first_only, ..Transitions::CORE }, TWO_CALLS);
}

#[test]
fn law_03_kills_an_owed_that_never_winds_down() {
    fn keeps_running(session: &Session) -> Vec<DesiredEffect> {
        let run = |one| DesiredEffect { demand: Demand::Run, ..one };
        desired_effects(session).into_iter().map(run).collect()
    }
    let owed = keeps_running;
    kills(
        3,
        Transitions { desired_effects: owed, ..Transitions::CORE },
        "send hello\ninterrupt person",
    );
}

#[test]
fn law_03_kills_a_sample_that_runs_ahead_of_the_log() {
    let script = "send hello\ncall read {}\nend stop\ndone 0 ok";
    kills(3, Transitions { desired_effects: needs_nothing, ..Transitions::CORE }, script);
}

#[test]
fn law_04_kills_a_recovery_without_a_fact() {
    fn goes_on(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
        let asked = session.turn().map(|turn| &turn.stage);
        if let (Input::Recover, Some(Stage::Sampling(_))) = (&input.input, asked) {
            return Ok(Vec::new());
        }
        decide(session, limits, input)
    }
    let decide = goes_on;
    kills(4, Transitions { decide, ..Transitions::CORE }, "send hello\ncrash");
}

/// What a mutant history makes of the log of a script, by law 10.
#[track_caller]
fn kills_history(mutant: fn(&mut History, &RecordedFact) -> Result<(), InvalidFact>, script: &str) {
    let log = log(script);
    law_10_prompts_extend::check(History::apply, &log).unwrap();
    law_10_prompts_extend::check(mutant, &log).unwrap_err();
}

#[test]
fn law_10_kills_a_history_that_forgets_a_settled_turn() {
    fn forgets(history: &mut History, fact: &RecordedFact) -> Result<(), InvalidFact> {
        if let Fact::TurnSettled(_) = &fact.fact {
            *history = History::default();
        }
        history.apply(fact)
    }
    kills_history(forgets, "send a\ntext hi\nend stop\nsend b");
}

#[test]
fn law_10_kills_a_history_that_shows_another_result() {
    fn embellishes(history: &mut History, fact: &RecordedFact) -> Result<(), InvalidFact> {
        let mut fact = fact.clone();
        if let Fact::CallObserved(observed) = &mut fact.fact {
            Arc::make_mut(&mut observed.observation).output.push('!');
        }
        history.apply(&fact)
    }
    kills_history(embellishes, ONE_CALL);
}

#[test]
fn law_10_kills_a_digest_of_something_else() {
    let law = |log: &[RecordedFact]| law_10_prompts_extend::check(History::apply, log);
    kills_log(ONE_CALL, law, |log| {
        let at = find(log, "SampleStarted", 1);
        if let Fact::SampleStarted(fact) = &mut log[at].fact {
            fact.digest = Digest::EMPTY;
        }
    });
}

#[test]
fn law_11_kills_results_that_show_when_they_came() {
    fn dates(history: &mut History, fact: &RecordedFact) -> Result<(), InvalidFact> {
        let mut fact = fact.clone();
        if let Fact::CallObserved(observed) = &mut fact.fact {
            let output = &mut Arc::make_mut(&mut observed.observation).output;
            output.push_str(&fact.seq.to_string());
        }
        history.apply(&fact)
    }
    let log = log(TWO_CALLS);
    law_11_finishing_order_does_not_matter::check(&Transitions::CORE, &log).unwrap();
    let mutant = Transitions { remember: dates, ..Transitions::CORE };
    law_11_finishing_order_does_not_matter::check(&mutant, &log).unwrap_err();
}

#[test]
fn law_17_kills_a_fork_that_answers_what_waits_elsewhere() {
    fn frees_forks(session: Session, fact: &RecordedFact) -> Result<Session, InvalidFact> {
        let mut session = evolve(session, fact)?;
        if let Lineage::Fork { .. } = *session.lineage {
            session.hold = Hold::Free;
        }
        Ok(session)
    }
    let mutant = Transitions { evolve: frees_forks, ..Transitions::CORE };
    kills(17, mutant, "send hello\ninterrupt person\nfail cancelled never");
}

#[test]
fn law_17_kills_a_process_that_goes_on_in_a_fork_unasked() {
    fn goes_on(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
        let fork = matches!(*session.lineage, Lineage::Fork { .. });
        let waits = fork && !session.queue.is_empty();
        let input = match waits && input.input == Input::Recover {
            true => Incoming { input: Input::Continue, ..input },
            false => input,
        };
        decide(session, limits, input)
    }
    let mutant = Transitions { decide: goes_on, ..Transitions::CORE };
    kills(17, mutant, "send hello\nsend more");
}
