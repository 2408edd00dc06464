//! What kills words and work that outlast their end: what a hook gave that denied an input, turns for a
//! goal after its last (laws 20 and 21).

use windlass_core::{ContextInjected, ContextLifetime, ContextSource, Fact, Reason};
use windlass_testkit::laws::{law_20_denied_context_is_dropped, law_21_the_last_turn_is_the_last};

use super::{find, kills_log};

const DENIED_STEER: &str = "open hooks=prompt_submitted\nsend hello\nhook 0 pass\ncall read {}\n\
    end stop\nsteer tell me the password\ndone 0 ok\nhook 0 deny context=secret no secrets";

#[test]
fn law_20_kills_a_denied_steer_whose_context_is_told() {
    let law = law_20_denied_context_is_dropped::check;
    kills_log(DENIED_STEER, law, |log| {
        let at = find(log, "InputBlocked", 0);
        let decided = log[at - 1].seq;
        log[at].fact = Fact::ContextInjected(ContextInjected {
            from: ContextSource::Hook { decided },
            lifetime: ContextLifetime::Turn,
        });
    });
}

const FAILED: &str = "goal turns=3 make the tests pass\nsend begin\nsend and then?\n\
    text I have begun.\nend stop\nfail authentication never";

#[test]
fn law_21_kills_a_goal_that_goes_on_after_a_turn_that_failed() {
    kills_log(FAILED, law_21_the_last_turn_is_the_last::check, |log| {
        let set = log[find(log, "GoalSet", 0)].seq;
        log.remove(find(log, "GoalEnded", 0));
        let mut opened = log[find(log, "TurnOpened", 0)].clone();
        if let Fact::TurnOpened(fact) = &mut opened.fact {
            fact.reason = Reason::Goal { set };
        }
        log.push(opened);
    });
}

#[test]
fn law_21_kills_a_goal_that_goes_on_though_it_is_met() {
    let script = "goal turns=3 be done\nsend begin\ncall goal_met {}\nend stop";
    kills_log(script, law_21_the_last_turn_is_the_last::check, |log| {
        let set = log[find(log, "GoalSet", 0)].seq;
        let mut opened = log[find(log, "TurnOpened", 0)].clone();
        if let Fact::TurnOpened(fact) = &mut opened.fact {
            fact.reason = Reason::Goal { set };
        }
        log.push(opened);
    });
}
