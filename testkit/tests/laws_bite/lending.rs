//! What kills a budget that is lent twice, or not given back as it was taken: law 9.

use windlass_core::{CallId, CallObserved, CallStarted, Fact, Limits, RecordedFact};
use windlass_testkit::laws::law_09_limits_hold;

use super::log;

/// Two agents beside each other, of which one comes back and one is lost.
const TWO: &str = "open samples=6 agent=2\nsend hello\ncall put {}\ncall put {}\nend stop\n\
                   done 0 took=1/5/0\nunknown 0\ntext a\nend stop";
/// One, under a limit of tokens.
const TOKENS: &str = "open samples=6 tokens=5000 agent=2\nsend hello\ncall put {}\nend stop tokens=9\n\
                      done 0 took=2/5/0\ntext a\nend stop tokens=9";

/// One, in a turn of limited time of which a third is over.
const TIME: &str = "open samples=6 turn_ms=900 agent=2\nsend hello\nwait 300\ncall put {}\nend stop\n\
                    done 0 took=2/5/0\ntext a\nend stop";

/// One of a program's calls, where a return may be asked for once more.
const RETRIES: &str = "open program=5 samples=5 shape=1 agent=2\nsend hello\ncall run_program {}\n\
                       end stop\nprogram 0 calls put {}\ndone 0 took=2/5/0";

/// Whether law 9 finds what was done to a log, which it lets pass as it was.
fn kills(script: &str, tamper: impl Fn(&mut Fact)) -> bool {
    let mut log = log(script);
    let held = |log: &[RecordedFact]| law_09_limits_hold::check(log, &Limits::default());
    held(&log).unwrap();
    log.iter_mut().for_each(|recorded| tamper(&mut recorded.fact));
    held(&log).is_err()
}

fn started(script: &str, tamper: impl Fn(&mut CallStarted)) -> bool {
    kills(script, |fact| {
        if let Fact::CallStarted(fact) = fact {
            tamper(fact);
        }
    })
}

fn observed(script: &str, tamper: impl Fn(&mut CallObserved)) -> bool {
    kills(script, |fact| {
        if let Fact::CallObserved(fact) = fact {
            tamper(fact);
        }
    })
}

#[test]
fn law_09_kills_lending_what_is_not_there() {
    let lends = |samples: u32| started(TWO, |fact| fact.grant.as_mut().unwrap().samples = samples);
    assert!(lends(3), "there are four to lend, to both");
    assert!(lends(0));
    assert!(started(TWO, |fact| fact.grant = None));
    let tokens = |tokens: u64| started(TOKENS, |fact| fact.grant.as_mut().unwrap().tokens = tokens);
    assert!(tokens(5_001));
    assert!(tokens(0), "no limit, under one");
    assert!(!tokens(4_000));
}

#[test]
fn law_09_kills_lending_what_the_last_sample_takes() {
    let tokens = |tokens: u64| started(TOKENS, |fact| fact.grant.as_mut().unwrap().tokens = tokens);
    // 9 are taken, as many and the shortest answer are kept for the sample that concludes, and an
    // eighth of what is lent for what the agent says.
    assert!(!tokens(4_200));
    assert!(tokens(4_210));
    // A retry takes them once more.
    let script = RETRIES.replace("samples=5", "samples=5 tokens=5000");
    let script = script.replace("end stop", "end stop tokens=200");
    let tokens = |tokens: u64| {
        started(&script, |fact| {
            if let Some(lent) = &mut fact.grant {
                lent.tokens = tokens;
            }
        })
    };
    assert!(!tokens(3_110));
    assert!(tokens(3_120));
}

#[test]
fn law_09_kills_lending_time_that_is_over() {
    let lends = |ms: u64| started(TIME, |fact| fact.grant.as_mut().unwrap().turn_ms = ms);
    assert!(lends(601));
    assert!(lends(0), "no limit, under one");
    assert!(!lends(600));
    // People may be asked about what an agent does: the longest run of a tool is nothing to it.
    let runs = |ms: u64| started(TIME, |fact| fact.timeout_ms = ms);
    assert!(!runs(u64::MAX));
}

#[test]
fn law_09_kills_taking_more_or_giving_back_what_nobody_knows_of() {
    assert!(observed(TWO, |fact| fact.usage = None));
    assert!(observed(TOKENS, |fact| fact.usage.as_mut().unwrap().samples = 3));
    // All that the lost one was lent counts.
    assert!(observed(TWO, |fact| fact.usage.as_mut().unwrap().samples = 1));
    // What was taken joins what the turn says that it spent.
    assert!(observed(TOKENS, |fact| fact.usage.as_mut().unwrap().samples = 1));
}

#[test]
fn law_09_kills_lending_what_is_kept_for_retries() {
    let lends = |samples: u32| {
        started(RETRIES, |fact| {
            if let Some(lent) = &mut fact.grant {
                lent.samples = samples;
            }
        })
    };
    assert!(!lends(2), "one is spent, one concludes, one is for a retry");
    assert!(lends(3));
}

#[test]
fn law_09_kills_going_on_beside_what_is_lent() {
    // Nobody hears of the agents any more, and the turn goes on without them.
    let broken = |script: &str| {
        let mut log = log(script);
        for recorded in &mut log {
            if let Fact::CallObserved(fact) = &mut recorded.fact {
                (fact.call, fact.usage) = (CallId(999), None);
            }
        }
        let held = law_09_limits_hold::check(&log, &Limits::default());
        held.unwrap_err().to_string()
    };
    let told = broken(TWO);
    assert!(told.contains("6 samples of 6 are taken or lent"), "{told}");
    let told = broken(&TWO.replace("samples=6", "samples=20"));
    assert!(told.contains("settles a turn that has lent"), "{told}");
}

#[test]
fn law_09_kills_lending_what_others_wait_for() {
    // Of nine samples one is spent and one concludes, and of two agents each declares as many.
    let script = "open samples=9 agent=9\nsend hello\ncall put {}\ncall put {}\nend stop";
    let first = |samples: u32| {
        let mut log = log(script);
        let grants = log.iter_mut().filter_map(|recorded| {
            let Fact::CallStarted(fact) = &mut recorded.fact else {
                return None;
            };
            fact.grant.as_mut()
        });
        let mut grants: Vec<_> = grants.collect();
        assert_eq!(grants.iter().map(|lent| lent.samples).collect::<Vec<_>>(), [4, 3]);
        (grants[0].samples, grants[1].samples) = (samples, 7 - samples);
        law_09_limits_hold::check(&log, &Limits::default()).is_err()
    };
    assert!(!first(4));
    assert!(first(5));
}
