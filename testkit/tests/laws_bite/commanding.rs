//! What kills commands of users that run where nobody sent them, or that the model never reads (law
//! 29).

use windlass_core::{
    Fact, History, InvalidFact, PermissionsNarrowed, RecordedFact, Rule, RuleVerdict, Seq,
};
use windlass_testkit::laws::Loss;
use windlass_testkit::laws::law_29_commands_are_of_users::{check, check_requests};

use super::{find, kills_log, log};

const WAITED: &str =
    "send hello\ncommand put {}\ntext hi\nend stop\ndone 0 two files\nsend and\ntext ah\nend stop";

#[test]
fn law_29_kills_a_command_of_an_earlier_process() {
    let log = log(WAITED);
    let kept = log[find(&log, "SampleEnded", 0)].seq;
    check(&log, &[]).unwrap();
    check(&log, &[Loss { life: 0, kept }]).unwrap_err();
    // One that began before the command was sent, or after it ran, is no other process.
    check(&log, &[Loss { life: 0, kept: Seq(2) }]).unwrap();
    check(&log, &[Loss { life: 0, kept: log[log.len() - 1].seq }]).unwrap();
}

#[test]
fn law_29_kills_a_command_that_rules_have_overtaken() {
    kills_log(
        WAITED,
        |log| check(log, &[]),
        |log| {
            let at = find(log, "SampleEnded", 0);
            let rule = Rule { tool: "put".into(), argument: None, verdict: RuleVerdict::Deny };
            let rules = vec![rule];
            log[at].fact =
                Fact::PermissionsNarrowed(PermissionsNarrowed { rules, ..Default::default() });
        },
    );
}

#[test]
fn law_29_kills_a_command_that_asks_a_model() {
    kills_log(
        WAITED,
        |log| check(log, &[]),
        |log| {
            let (asked, observed) = (find(log, "SampleStarted", 0), find(log, "CallObserved", 0));
            log[observed].fact = log[asked].fact.clone();
        },
    );
}

#[test]
fn law_29_kills_a_call_of_no_command() {
    kills_log(
        WAITED,
        |log| check(log, &[]),
        |log| {
            let at = find(log, "InputQueued", 1);
            if let Fact::InputQueued(fact) = &mut log[at].fact {
                fact.command = None;
            }
        },
    );
}

#[test]
fn law_29_kills_a_request_without_the_command_or_its_result() {
    type Remember = fn(&mut History, &RecordedFact) -> Result<(), InvalidFact>;
    fn without_results(history: &mut History, fact: &RecordedFact) -> Result<(), InvalidFact> {
        if let Fact::CallObserved(_) = &fact.fact { Ok(()) } else { history.apply(fact) }
    }
    fn without_commands(history: &mut History, fact: &RecordedFact) -> Result<(), InvalidFact> {
        let mut fact = fact.clone();
        if let Fact::InputQueued(queued) = &mut fact.fact
            && queued.command.is_some()
        {
            queued.text = "something else".into();
        }
        history.apply(&fact)
    }
    let log = log(WAITED);
    check_requests(History::apply, &log).unwrap();
    for remember in [without_results as Remember, without_commands] {
        check_requests(remember, &log).unwrap_err();
    }
}
