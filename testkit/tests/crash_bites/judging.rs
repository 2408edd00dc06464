//! The judge passes what is sound, and names each invariant that forged evidence breaks.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::{Fact, ObservationStatus, RecordedFact, Seq};
use windlass_testkit::crash::{Effect, Invariant, Scene, judge};

use super::{PROGRAM, TURN, effects, log, requests};

/// Evidence that can be forged.
struct Evidence {
    log: Vec<RecordedFact>,
    acknowledged: Vec<RecordedFact>,
    effects: Vec<Effect>,
    requests: Vec<Value>,
    undisturbed: Vec<Value>,
}

impl Evidence {
    fn sound() -> Self {
        let log = log(TURN);
        let requests = requests(&["looked", "kept", "paid"]);
        Self {
            acknowledged: log.clone(),
            effects: effects(&log),
            undisturbed: requests.clone(),
            requests,
            log,
        }
    }

    /// The same, by one program.
    fn of_a_program() -> Self {
        let log = log(PROGRAM);
        Self {
            acknowledged: Vec::new(),
            effects: effects(&log),
            undisturbed: Vec::new(),
            requests: Vec::new(),
            log,
        }
    }

    fn broken(&self) -> Vec<Invariant> {
        let scene = Scene {
            log: &self.log,
            acknowledged: &self.acknowledged,
            effects: &self.effects,
            requests: &self.requests,
            undisturbed: &self.undisturbed,
        };
        let mut broken: Vec<_> = judge(&scene).into_iter().map(|it| it.invariant).collect();
        broken.dedup();
        broken
    }

    /// Puts a fact in, and numbers what comes after it on.
    fn insert(&mut self, at: usize, fact: RecordedFact) {
        self.log.insert(at, fact);
        for (recorded, seq) in self.log.iter_mut().zip(1..) {
            recorded.seq = Seq(seq);
        }
        self.acknowledged.clear();
    }

    fn position(&self, holds: impl Fn(&Fact) -> bool) -> usize {
        let mut facts = self.log.iter().map(|recorded| &recorded.fact);
        facts.rposition(holds).unwrap()
    }
}

/// What is broken once sound evidence was forged.
fn forged(forge: impl FnOnce(&mut Evidence)) -> Vec<Invariant> {
    let mut evidence = Evidence::sound();
    forge(&mut evidence);
    evidence.broken()
}

#[test]
fn what_is_sound_passes() {
    assert_eq!(forged(|_| {}), []);
}

#[test]
fn an_acknowledgement_that_is_lost_or_changed_is_found() {
    let lost = forged(|it| {
        it.log.pop();
    });
    assert_eq!(lost, [Invariant::NothingLost, Invariant::OneEnd]);
    let changed = forged(|it| it.acknowledged[1].ts.0 += 1);
    assert_eq!(changed, [Invariant::NothingLost]);
    let gap = forged(|it| {
        it.log.remove(2);
    });
    assert_eq!(gap[0], Invariant::NothingLost);
}

#[test]
fn a_second_result_is_found() {
    let twice = forged(|it| {
        let at = it.position(|fact| matches!(fact, Fact::CallObserved(_)));
        it.insert(at + 1, it.log[at].clone());
    });
    assert!(twice.contains(&Invariant::OneResult), "{twice:?}");
    let none = forged(|it| {
        let at = it.position(|fact| matches!(fact, Fact::CallObserved(_)));
        // The same place is taken by a fact that says nothing of a call.
        it.log[at].fact = it.log[0].fact.clone();
        it.acknowledged.clear();
    });
    assert!(none.contains(&Invariant::OneResult), "{none:?}");
}

#[test]
fn an_effect_that_comes_twice_is_found() {
    let pay = |it: &Evidence| it.effects.iter().find(|one| one.tool == "write").cloned();
    let twice = forged(|it| it.effects.extend(pay(it)));
    assert_eq!(twice, [Invariant::AtMostOnce]);
    // An idempotent call may run as often as the log starts it, and no more.
    let put = |it: &Evidence| it.effects.iter().find(|one| one.tool == "put").cloned();
    assert_eq!(forged(|it| it.effects.extend(put(it))), [Invariant::AtMostOnce]);
    // A read changes nothing.
    let read = |it: &Evidence| it.effects.iter().find(|one| one.tool == "read").cloned();
    assert_eq!(forged(|it| it.effects.extend(read(it))), []);
}

#[test]
fn an_effect_without_a_start_and_a_lie_about_one_are_found() {
    let unknown = |tool: &str| Effect { tool: tool.to_owned(), key: "s.999".to_owned() };
    let strange = forged(|it| it.effects.push(unknown("write")));
    assert_eq!(strange, [Invariant::AtMostOnce]);
    // It may have run ahead of a log that then was lost.
    assert_eq!(forged(|it| it.effects.push(unknown("read"))), []);
    let lie = forged(|it| it.effects.retain(|one| one.tool != "write"));
    assert_eq!(lie, [Invariant::AtMostOnce]);
}

#[test]
fn what_a_program_calls_is_judged_like_any_other_call() {
    let forged = |forge: &dyn Fn(&mut Evidence)| {
        let mut evidence = Evidence::of_a_program();
        forge(&mut evidence);
        evidence.broken()
    };
    let of = |it: &Evidence, tool: &str| it.effects.iter().find(|one| one.tool == tool).cloned();
    assert_eq!(forged(&|_| {}), []);
    assert_eq!(forged(&|it| it.effects.extend(of(it, "read"))), []);
    for tool in ["put", "write"] {
        let twice = forged(&|it| it.effects.extend(of(it, tool)));
        assert_eq!(twice, [Invariant::AtMostOnce], "{tool}");
    }
    let lie = forged(&|it| it.effects.retain(|one| one.tool != "write"));
    assert_eq!(lie, [Invariant::AtMostOnce]);
}

#[test]
fn a_second_end_a_missing_one_and_a_second_turn_are_found() {
    let twice = forged(|it| {
        let at = it.position(|fact| matches!(fact, Fact::TurnSettled(_)));
        it.insert(at + 1, it.log[at].clone());
    });
    assert!(twice.contains(&Invariant::OneEnd), "{twice:?}");
    let none = forged(|it| {
        it.log.pop();
        it.acknowledged.clear();
    });
    assert_eq!(none, [Invariant::OneEnd]);
    let again = forged(|it| {
        let opened = it.position(|fact| matches!(fact, Fact::TurnOpened(_)));
        let end = it.position(|fact| matches!(fact, Fact::TurnSettled(_)));
        it.insert(end + 1, it.log[opened].clone());
    });
    assert!(again.contains(&Invariant::OneEnd), "{again:?}");
    let nothing = forged(|it| {
        it.log.truncate(1);
        it.acknowledged.clear();
        it.effects.clear();
    });
    assert_eq!(nothing, [Invariant::OneEnd]);
}

#[test]
fn a_request_that_is_not_the_undisturbed_one_is_found() {
    let found = [Invariant::SameRequests];
    // Asking the same again is no other request.
    let again = forged(|it| {
        let second = it.requests[1].clone();
        it.requests.insert(1, second);
    });
    assert_eq!(again, []);
    let changed = forged(|it| it.requests[2]["messages"][1]["tool_calls"] = json!([]));
    assert_eq!(changed, found);
    let other_model = forged(|it| it.requests[2]["model"] = json!("other"));
    assert_eq!(other_model, found);
    let skipped = forged(|it| {
        it.requests.remove(1);
    });
    assert_eq!(skipped, found);
    let unfinished = forged(|it| {
        it.requests.pop();
    });
    assert_eq!(unfinished, found);
    let longer = forged(|it| {
        let mut more = it.requests[3].clone();
        let items = more["messages"].as_array_mut().unwrap();
        items.push(json!({"role": "user", "content": "and?"}));
        it.requests.push(more);
    });
    assert_eq!(longer, found);
    let none = forged(|it| it.undisturbed.clear());
    assert_eq!(none, found);
}

#[test]
fn another_result_is_another_way_only_where_the_log_says_so() {
    let other = |it: &mut Evidence, told: &str| {
        it.requests = requests(&["looked", "kept", told]);
    };
    let untold = forged(|it| other(it, "nobody knows"));
    assert_eq!(untold, [Invariant::SameRequests]);
    let told = forged(|it| {
        other(it, "nobody knows");
        for recorded in &mut it.log {
            if let Fact::CallObserved(observed) = &mut recorded.fact
                && observed.observation.output == "paid"
            {
                let seen = Arc::make_mut(&mut observed.observation);
                seen.status = ObservationStatus::Unknown;
                seen.output = "nobody knows".to_owned();
            }
        }
        it.acknowledged.clear();
    });
    assert_eq!(told, []);
}

#[test]
fn another_result_of_a_program_is_another_way_only_where_a_call_of_it_was_lost() {
    let request =
        |result: Option<&str>| {
            let mut messages = vec![json!({"role": "user", "content": "hello"})];
            messages.extend(result.map(
                |told| json!({"role": "tool", "tool_call_id": "call_program", "content": told}),
            ));
            json!({"model": "m", "messages": messages})
        };
    let told = |status: ObservationStatus| {
        let mut evidence = Evidence::of_a_program();
        let mut result = String::new();
        for recorded in &mut evidence.log {
            if let Fact::CallObserved(observed) = &mut recorded.fact {
                let seen = Arc::make_mut(&mut observed.observation);
                if seen.output == "paid" {
                    seen.status = status;
                }
                result.clone_from(&seen.output);
            }
        }
        evidence.undisturbed = vec![request(None), request(Some("something else"))];
        evidence.requests = vec![request(None), request(Some(&result))];
        evidence.broken()
    };
    assert_eq!(told(ObservationStatus::Unknown), []);
    assert_eq!(told(ObservationStatus::Done), [Invariant::SameRequests]);
}
