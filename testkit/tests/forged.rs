//! A log that an engine did not write does not fold, however well it reads.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking, and forges one kind of fact"
)]

use std::sync::Arc;

use windlass_core::{
    Fact, InterruptSource, InvalidFact, Item, Limits, RecordedFact, Scope, Seq, Session,
    TurnOutcome, evolve, evolve_first,
};
use windlass_testkit::laws;
use windlass_testkit::world::{Posture, Script, Transitions, World, check_all, run};

const TURN: &str = "send hello\ncall write {}\nend stop\ndone 0 written\ntext hi\nend stop\n";

fn log() -> Vec<RecordedFact> {
    let script: Script = TURN.parse().unwrap();
    let world = check_all(Transitions::CORE, laws::ALL, &script).unwrap();
    let log = world.log().to_vec();
    assert!(matches!(log.last().unwrap().fact, Fact::TurnSettled(_)), "{log:#?}");
    log
}

fn fold(log: &[RecordedFact]) -> Result<Session, InvalidFact> {
    let (first, rest) = log.split_first().unwrap();
    rest.iter().try_fold(evolve_first(first)?, evolve)
}

/// The log with one fact changed does not fold, and the misfit names the place.
fn refused(mut log: Vec<RecordedFact>, forge: impl Fn(&mut Fact) -> bool) {
    let at = log.iter_mut().position(|recorded| forge(&mut recorded.fact)).unwrap();
    let misfit = fold(&log).unwrap_err();
    assert_eq!(misfit.at, Seq(at as u64 + 1), "{misfit}");
}

#[test]
fn as_it_was_written_it_folds() {
    assert!(fold(&log()).is_ok());
}

#[test]
fn an_end_that_the_turn_does_not_come_to() {
    let nobody_asked =
        TurnOutcome::Interrupted { by: InterruptSource::Person, reason: "no".into() };
    refused(log(), |fact| match fact {
        Fact::TurnSettled(settled) => {
            settled.outcome = nobody_asked.clone();
            true
        }
        _ => false,
    });
}

#[test]
fn totals_that_do_not_add_up() {
    refused(log(), |fact| match fact {
        Fact::TurnSettled(settled) => {
            settled.spent.calls += 1;
            true
        }
        _ => false,
    });
}

#[test]
fn a_turn_for_somebody_else() {
    refused(log(), |fact| match fact {
        Fact::TurnOpened(turn) => {
            turn.scope = Scope::system("forged").into();
            true
        }
        _ => false,
    });
}

#[test]
fn a_call_that_runs_twice() {
    let mut log = log();
    let at = log.iter().position(|r| matches!(r.fact, Fact::CallStarted(_))).unwrap();
    let mut again = log[at].clone();
    if let Fact::CallStarted(started) = &mut again.fact {
        started.attempt = 2;
    }
    log.insert(at + 1, again);
    for (n, recorded) in log.iter_mut().enumerate() {
        recorded.seq = Seq(n as u64 + 1);
    }
    assert_eq!(fold(&log).unwrap_err().at, Seq(at as u64 + 2));
}

/// The posture that these words of a script say.
fn posture(words: &str) -> Posture {
    let mut posture = Posture::default();
    for word in words.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap();
        posture.set(name, value).unwrap();
    }
    posture
}

/// What a new process with this ceiling adds to the log of a script, whose settings read like those of
/// this posture: the kinds of facts, with the calls that start.
fn resumed(script: &str, settings: &str, ceiling: &str) -> Vec<String> {
    resumed_with(script, settings, ceiling, |_| {})
}

/// As [`resumed`], with one more change of each fact.
fn resumed_with(
    script: &str,
    settings: &str,
    ceiling: &str,
    forge: impl Fn(&mut Fact),
) -> Vec<String> {
    let script: Script = script.parse().unwrap();
    let mut log = run(Transitions::CORE, &script).unwrap().log().to_vec();
    log.iter_mut().for_each(|recorded| forge(&mut recorded.fact));
    if let Fact::SessionOpened(opened) = &mut log[0].fact {
        opened.settings = Arc::new(posture(settings).settings());
    }
    let (limits, ceiling) = (Limits::default(), posture(ceiling).ceiling());
    let known = log.len();
    let world = World::follow_under(Transitions::CORE, limits, ceiling, log).unwrap();
    let added = world.log()[known..].iter().map(|recorded| match &recorded.fact {
        Fact::CallStarted(fact) => format!("CallStarted {}", fact.call),
        other => other.kind().to_owned(),
    });
    added.collect()
}

/// A log in which a call was allowed that its own settings forbid: the decision was planted.
const ALLOWED: &str = "open\nsend hello\ncall shell {}\ncall write {}\nend stop";

#[test]
fn a_planted_decision_starts_nothing() {
    for settings in ["mode=plan", "permissions=read_only", "rules=deny:write,deny:shell"] {
        let added = resumed(ALLOWED, settings, settings);
        assert!(!added.iter().any(|fact| fact.starts_with("CallStarted")), "{settings}: {added:?}");
        assert!(added.contains(&"PermissionsNarrowed".to_owned()), "{settings}: {added:?}");
    }
    let asked = resumed(ALLOWED, "permissions=ask", "permissions=ask");
    assert!(!asked.iter().any(|fact| fact.starts_with("CallStarted")), "{asked:?}");
    assert!(asked.contains(&"ApprovalAsked".to_owned()), "{asked:?}");
    let permitted = resumed(ALLOWED, "", "");
    assert!(permitted.contains(&"CallStarted 9".to_owned()), "{permitted:?}");
}

/// Makes each call match the first rule, as the log says.
fn matches_the_first(fact: &mut Fact) {
    if let Fact::ItemAdded(added) = fact
        && let Item::Call(call) = &mut added.item
    {
        Arc::make_mut(call).rules = vec![0];
    }
}

#[test]
fn a_planted_match_with_a_rule_that_allows_starts_nothing() {
    let rules = "permissions=ask rules=allow:spawn";
    let added = resumed_with(ALLOWED, rules, rules, matches_the_first);
    assert!(!added.iter().any(|fact| fact.starts_with("CallStarted")), "{added:?}");
    assert!(added.contains(&"ApprovalAsked".to_owned()), "{added:?}");
    // A run that changes something is not repeated either.
    let added = resumed_with(BEGUN, rules, rules, matches_the_first);
    assert!(!added.iter().any(|fact| fact.starts_with("CallStarted")), "{added:?}");
}

#[test]
fn a_call_that_a_rule_allows_is_compared_and_goes_on() {
    let rules = "permissions=ask rules=allow:write,deny:spawn";
    let asked = resumed(ALLOWED, rules, rules);
    assert!(asked.contains(&"CallStarted 9".to_owned()), "{asked:?}");
    assert!(!asked.contains(&"CallStarted 6".to_owned()), "{asked:?}");
}

/// A log in which a run began that its own settings forbid.
const BEGUN: &str = "open\nsend hello\ncall put {}\nend stop";

#[test]
fn a_planted_run_is_not_repeated() {
    for settings in ["mode=plan", "permissions=read_only", "permissions=ask", "rules=deny:put"] {
        let added = resumed(BEGUN, settings, settings);
        assert!(!added.iter().any(|fact| fact.starts_with("CallStarted")), "{settings}: {added:?}");
    }
    assert!(resumed(BEGUN, "", "").contains(&"CallStarted 6".to_owned()));
}

#[test]
fn a_log_without_hooks_runs_under_those_of_the_process() {
    let added = resumed(ALLOWED, "", "hooks=before_tool");
    let first: Vec<&str> = added.iter().map(String::as_str).take(3).collect();
    assert_eq!(first, ["PermissionsNarrowed", "CallObserved", "HooksAsked"], "{added:?}");
    assert!(!added.iter().any(|fact| fact.starts_with("CallStarted")), "{added:?}");
    let run = resumed(BEGUN, "", "hooks=before_tool@put");
    assert!(!run.iter().any(|fact| fact.starts_with("CallStarted")), "{run:?}");
}
