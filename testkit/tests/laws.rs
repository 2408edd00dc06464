//! The laws, over random worlds of answers, failures, crashes and interrupts, over random facts,
//! and over random streams.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use windlass_core::{
    AssemblerLimits, AssemblerOutput, AssemblerOverflow, CallItem, Fact, Observation,
    ObservationStatus, Opaque, ProgramEnd, Prompt, PromptItem, Reason, ReasoningItem, Retained,
    SampleKind, Seq, StreamEvent,
};
use windlass_ports::codec;
use windlass_testkit::laws;
use windlass_testkit::laws::law_06_chunking_does_not_matter::{self as law_06, assemble};
use windlass_testkit::laws::law_12_facts_round_trip;
use windlass_testkit::world::{self, Posture, Script, Transitions, check_all, facts, random};

proptest! {
    // What fails is printed as a script, which belongs into `tests/turns.rs`.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hold_in_random_worlds(script in random::script(60)) {
        if let Err(broken) = check_all(Transitions::CORE, laws::ALL, &script) {
            return Err(TestCaseError::fail(broken.to_string()));
        }
    }

    #[test]
    fn scripts_read_as_they_are_written(script in random::script(20)) {
        let read: Result<Script, String> = script.to_string().parse();
        prop_assert_eq!(read, Ok(script));
    }

    #[test]
    fn facts_round_trip(recorded in facts::recorded()) {
        if let Err(broken) = law_12_facts_round_trip::check(codec::encode, &recorded) {
            return Err(TestCaseError::fail(broken.to_string()));
        }
    }

    #[test]
    fn chunking_does_not_matter(events in random::stream(), size in 1..5_usize, bytes in 0..60_usize) {
        let cut = law_06::cut(&events, size);
        for caps in [AssemblerLimits::default(), AssemblerLimits { bytes, parts: 3 }] {
            if let Err(broken) = law_06::check(assemble, caps, &events, &cut) {
                return Err(TestCaseError::fail(broken.to_string()));
            }
        }
    }

    #[test]
    fn an_answer_keeps_within_its_caps(events in random::stream(), bytes in 0..40_usize, parts in 0..4_usize) {
        let answer = assemble(AssemblerLimits { bytes, parts }, &events);
        let shown: usize = answer.shown.values().map(String::len).sum();
        let named: usize = events.iter().map(name_len).sum();
        prop_assert!(shown <= bytes + named);
        prop_assert!(answer.shown.len() <= parts);
        match answer.overflow {
            None => {}
            Some(AssemblerOverflow::Bytes(cap)) => prop_assert_eq!(cap, bytes),
            Some(AssemblerOverflow::Parts(cap)) => prop_assert_eq!(cap, parts),
        }
    }

    #[test]
    fn nothing_follows_the_end_of_an_answer(events in random::stream()) {
        let answer = assemble(AssemblerLimits::default(), &events);
        let end = |part: &AssemblerOutput| matches!(part, AssemblerOutput::Ended { .. });
        let ends = answer.parts.iter().filter(|part| end(part)).count();
        let finished = events.iter().any(|event| matches!(event, StreamEvent::Finished { .. }));
        prop_assert_eq!(ends, usize::from(finished));
        prop_assert!(!finished || answer.parts.last().is_some_and(end));
    }
}

/// Random worlds are worth what they reach.
#[test]
fn random_worlds_reach_everything() {
    let mut runner = TestRunner::deterministic();
    let strategy = random::script(60);
    let mut reached = BTreeSet::new();
    for _ in 0..4_096 {
        let script = strategy.new_tree(&mut runner).unwrap().current();
        let world = world::run(Transitions::CORE, &script).unwrap();
        for recorded in world.log() {
            reached.insert(recorded.fact.kind().to_owned());
            if let Fact::TurnSettled(fact) = &recorded.fact {
                let told = world::outcome(&fact.outcome);
                let class: Vec<&str> = told.splitn(3, ": ").take(2).collect();
                reached.insert(class.join(": "));
                reached.extend(class.first().map(|class| (*class).to_owned()));
            }
            if let Fact::CallObserved(fact) = &recorded.fact {
                reached.insert(format!("{:?}", fact.observation.status));
            }
            reached.extend(rarer(&recorded.fact).map(String::from));
            reached.extend(of_programs(&recorded.fact).into_iter().map(String::from));
            reached.extend(of_agents(&recorded.fact).map(String::from));
        }
        let rejects = world.rejects().iter().map(|reject| format!("{reject:?}"));
        let word = |reject: String| reject.split(['(', ' ']).next().unwrap_or_default().to_owned();
        reached.extend(rejects.map(word));
    }
    let wanted = [
        "completed",
        "no answer",
        "refused",
        "misshapen",
        "interrupted by person",
        "interrupted by shutdown",
        "exhausted: samples",
        "exhausted: calls",
        "exhausted: tokens",
        "exhausted: output_tokens",
        "exhausted: wall_clock",
        "exhausted: cost",
        "exhausted: continuations",
        "exhausted: compactions",
        "exhausted: context",
        "blocked",
        "failed",
        "failed: hook",
        "failed: restart",
        "failed: content_filter",
        "Done",
        "Failed",
        "Denied",
        "Aborted",
        "Unknown",
        "NotStarted",
        "a call again",
        "a call planned",
        "an answer cut short by the user",
        "an answer that stands in part",
        "a hook asked again",
        "a question asked again",
        "a surplus call",
        "because pending input",
        "because hook context",
        "because compacted",
        "because retry return",
        "because empty answer",
        "because goal",
        "a program with a value",
        "a program that returned",
        "a program whose return was rejected",
        "a program that gave up",
        "a program with a fault",
        "a program that left memory",
        "a program that was stopped after calls that change something",
        "a sample of the kind MustReturn",
        "a sample of the kind Retry",
        "a budget lent",
        "a budget lent again",
        "a budget taken",
        "all of a budget taken, as nobody knows",
        "an agent that goes on",
        "the result of an agent that went on",
        "Stale",
        "Idle",
        "NoPendingInput",
        "Stopping",
        "QueueFull",
        "SessionFull",
        "Empty",
        "Duplicate",
        "NoOpenQuestion",
        "ResultNotAwaited",
        "a call of a client",
        "a result of a client",
        "a search that found a tool",
        "ArgumentsMismatch",
        "ContextTooLarge",
        "WidensPermissions",
        "InvalidGoal",
    ];
    let missing: Vec<&str> = wanted
        .into_iter()
        .chain(Fact::KINDS.iter().copied())
        .filter(|wanted| !reached.contains(*wanted))
        .collect();
    assert!(missing.is_empty(), "{missing:?} is not among {reached:?}");
}

/// What a fact shows that its kind does not say.
fn rarer(fact: &Fact) -> Option<&'static str> {
    if let Fact::CallStarted(fact) = fact {
        if fact.client {
            return Some("a call of a client");
        }
        let again = (fact.attempt > 1).then_some("a call again");
        return fact.plan.then_some("a call planned").or(again);
    }
    if let Fact::CallObserved(fact) = fact
        && fact.by.is_some()
    {
        return Some("a result of a client");
    }
    if let Fact::CallObserved(fact) = fact
        && !fact.observation.offers.is_empty()
    {
        return Some("a search that found a tool");
    }
    if let Fact::ItemAdded(fact) = fact {
        return fact.surplus.then_some("a surplus call");
    }
    if let Fact::SampleCut(fact) = fact {
        return match fact.retained {
            Retained::Nothing => None,
            Retained::Text => Some("an answer cut short by the user"),
            Retained::Through { .. } => Some("an answer that stands in part"),
        };
    }
    if let Fact::HooksAsked(fact) = fact {
        return (fact.attempt > 1).then_some("a hook asked again");
    }
    if let Fact::ApprovalAsked(fact) = fact {
        return (fact.attempt > 1).then_some("a question asked again");
    }
    let Fact::SampleStarted(fact) = fact else {
        return None;
    };
    match fact.reason {
        Reason::PendingInput { .. } => Some("because pending input"),
        Reason::HookContext { .. } => Some("because hook context"),
        Reason::Compacted => Some("because compacted"),
        Reason::InvalidOutput { .. } => Some("because retry return"),
        Reason::EmptyAnswer { .. } => Some("because empty answer"),
        Reason::Goal { .. } => Some("because goal"),
        Reason::CompactionRequested { .. } => None,
        Reason::Input { .. } | Reason::ToolResults | Reason::Retry | Reason::Unfinished => None,
    }
}

/// What is rarer of programs.
fn of_programs(fact: &Fact) -> Vec<&'static str> {
    let mut reached = Vec::new();
    if let Fact::ProgramRun(fact) = fact {
        reached.push(match (&fact.outcome.end, &fact.fault) {
            (_, Some(_)) => "a program whose return was rejected",
            (ProgramEnd::Value { .. }, None) => "a program with a value",
            (ProgramEnd::Return { .. }, None) => "a program that returned",
            (ProgramEnd::Fail { .. }, None) => "a program that gave up",
            (ProgramEnd::Fault(_), None) => "a program with a fault",
        });
        reached.extend(fact.outcome.retained.iter().map(|_| "a program that left memory"));
    }
    if let Fact::CallObserved(fact) = fact {
        let stopped = "a program that was stopped after calls that change something";
        reached.extend(fact.report.iter().map(|_| stopped));
    }
    if let Fact::SampleStarted(fact) = fact {
        match fact.kind {
            SampleKind::Normal => {}
            SampleKind::MustReturn => reached.push("a sample of the kind MustReturn"),
            SampleKind::ReAsk => reached.push("a sample of the kind Retry"),
        }
    }
    reached
}

/// What is rarer of agents.
fn of_agents(fact: &Fact) -> Option<&'static str> {
    if let Fact::CallStarted(fact) = fact {
        fact.grant?;
        return Some(match fact.attempt {
            1 => "a budget lent",
            _ => "a budget lent again",
        });
    }
    if let Fact::InputQueued(fact) = fact {
        return fact.result_of.map(|_| "the result of an agent that went on");
    }
    let Fact::CallObserved(fact) = fact else {
        return None;
    };
    fact.usage?;
    if fact.detached && fact.observation.status == ObservationStatus::Done {
        return Some("an agent that goes on");
    }
    Some(match fact.observation.status {
        ObservationStatus::Unknown => "all of a budget taken, as nobody knows",
        ObservationStatus::Done
        | ObservationStatus::Failed
        | ObservationStatus::Denied
        | ObservationStatus::Aborted
        | ObservationStatus::NotStarted => "a budget taken",
    })
}

/// Names of calls are shown, and are not counted as text.
fn name_len(event: &StreamEvent) -> usize {
    if let StreamEvent::CallOpened { name, .. } = event {
        return name.len() + 1;
    }
    0
}

/// `SampleStarted` says what was shown by its digest alone.
#[test]
fn a_digest_tells_conversations_apart() {
    let user = |text: &str| PromptItem::User { text: text.into() };
    let sample = Seq(5);
    let call = |name: &str, arguments: &str| PromptItem::Call {
        sample,
        id: "c1".into(),
        call: Arc::new(CallItem {
            provider_id: String::from("c1"),
            name: name.into(),
            arguments: arguments.into(),
            fault: None,
            rules: Vec::new(),
            possible_rules: Vec::new(),
            outside_sandbox: false,
            sha256: None,
            opaque: None,
            inline: false,
        }),
    };
    let result = |output: &str, edited: Option<&str>| PromptItem::Result {
        id: "c1".into(),
        observation: Arc::new(Observation::new(ObservationStatus::Done, output)),
        edited: edited.map(Arc::from),
    };
    let context = |text: &str| PromptItem::Context { text: text.into() };
    let reasoning = |text: &str, payload: Option<&str>| PromptItem::Reasoning {
        sample,
        item: Arc::new(ReasoningItem {
            text: text.into(),
            opaque: payload.map(|payload| Opaque {
                provider: String::from("p"),
                endpoint: String::from("e"),
                model: String::from("m"),
                payload: payload.into(),
            }),
            ..ReasoningItem::default()
        }),
    };
    let conversations = [
        vec![],
        vec![user("a")],
        vec![user("b")],
        vec![user("a"), user("b")],
        vec![user("b"), user("a")],
        vec![user("ab")],
        vec![PromptItem::text(sample, "a")],
        vec![PromptItem::Refusal { sample, text: "a".into() }],
        vec![reasoning("a", None)],
        vec![reasoning("a", Some("b"))],
        vec![reasoning("a", Some("c"))],
        vec![call("read", "{}")],
        vec![call("read", "{ }")],
        vec![call("look", "{}")],
        vec![result("a", None)],
        vec![result("b", None)],
        vec![result("a", Some("b"))],
        vec![context("a")],
        vec![context("b")],
    ];
    let settings = Arc::new(Posture::default().settings());
    let digest = |items: &Vec<PromptItem>| {
        let items = items.iter().cloned().collect();
        let settings = settings.clone();
        Prompt { settings, items }.digest()
    };
    let digests: BTreeSet<_> = conversations.iter().map(digest).collect();
    assert_eq!(digests.len(), conversations.len());
}
