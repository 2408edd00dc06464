//! Appends, acknowledgements, effects, checkpoints and defects.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::call::{Observation, ObservationStatus, Suspension, UserQuestion};
use crate::compact::kit;
use crate::decide::{decide, decide_open};
use crate::effect::DesiredEffect;
use crate::error::Reject;
use crate::fact::{EffectStart, Lineage, StopTiming};
use crate::id::SessionId;
use crate::input::{OpenSession, SampleEvent};
use crate::item::{CallItem, Item, StopReason};
use crate::outcome::InterruptSource;
use crate::record::Draft;
use crate::scope::Scope;
use crate::session::{CallProgress, Delivery};
use crate::settings::{Concurrency, EffectClass, Settings, ToolSpec};

pub(super) const WHO: &str = "somebody";

pub(super) fn settings() -> Settings {
    Settings {
        tools: vec![ToolSpec {
            name: "write".into(),
            description: String::new(),
            parameters: "{}".into(),
            effect: EffectClass::Effectful,
            concurrency: Concurrency::Parallel,
            timeout_ms: None,
            reconciles: false,
            client: false,
            deferred: false,
            agent: None,
            grammar: None,
        }],
        ..kit::settings()
    }
}

/// Returns the setup of a new session whose opening is not appended yet.
pub(super) fn setup(settings: Settings) -> MachineSetup {
    setup_of(settings, Lineage::Root)
}

fn setup_of(settings: Settings, lineage: Lineage) -> MachineSetup {
    let draft = decide_open(Incoming {
        at: Timestamp(1),
        entropy: 0,
        input: OpenSession { owner: Scope::local(WHO), workspace: None, settings, lineage },
    });
    let first = draft.number(&SessionId::new("s").unwrap(), Seq(1));
    MachineSetup {
        loaded: Checkpoint::open(&first).unwrap(),
        unsent: vec![Arc::new(first)],
        ceiling: None,
        limits: Limits::default(),
        transitions: Transitions::default(),
        checkpoint_every: 0,
        checkpoint: Seq::ZERO,
        has_mailbox: false,
        release_ms: 500,
    }
}

/// A machine, and a store that answers on a test's command.
pub(super) struct Shell {
    pub(super) machine: Machine,
}

impl Shell {
    /// Creates one with a durable opening.
    pub(super) fn new(setup: MachineSetup) -> Self {
        let mut shell = Self { machine: Machine::new(setup) };
        shell.handle(MachineEvent::Recovered { matched: Vec::new() });
        shell.appended();
        shell
    }

    /// Hands an event over, and returns the actions in short form.
    pub(super) fn handle(&mut self, event: MachineEvent) -> Vec<String> {
        self.handle_at(10, event)
    }

    pub(super) fn handle_at(&mut self, at: u64, event: MachineEvent) -> Vec<String> {
        self.machine.handle(Incoming { at: Timestamp(at), entropy: 0, input: event });
        core::iter::from_fn(|| self.machine.poll()).filter_map(words).collect()
    }

    pub(super) fn appended(&mut self) -> Vec<String> {
        self.handle(MachineEvent::Appended)
    }

    pub(super) fn command(&mut self, token: u64, input: Input) -> Vec<String> {
        let token = CommandToken(token);
        self.handle(MachineEvent::Command { token, input })
    }

    /// Returns the running effect of this kind.
    pub(super) fn running(&self, kind: fn(&EffectKey) -> bool) -> EffectKey {
        *self.machine.running().keys().find(|key| kind(key)).unwrap()
    }

    pub(super) fn sampled(&mut self, news: SampleEvent) -> Vec<String> {
        let key = self.running(is_sample);
        self.report(key, Input::SampleEvent { key, event: news }, false)
    }

    pub(super) fn report(&mut self, key: EffectKey, input: Input, last: bool) -> Vec<String> {
        let inputs = vec![input];
        self.handle(MachineEvent::Effect { key, inputs, last })
    }

    /// Creates one whose model has called the tool. Everything is durable except the consequences
    /// of the sample's end.
    pub(super) fn calling() -> Self {
        Self::calling_in(Lineage::Root)
    }

    fn calling_in(lineage: Lineage) -> Self {
        let mut shell = Self::new(setup_of(settings(), lineage));
        shell.command(0, send("hello", None));
        shell.appended();
        shell.sampled(SampleEvent::Item(call()));
        shell
    }
}

fn words(action: Action) -> Option<String> {
    Some(match action {
        Action::Note(Note::Decided(_)) => return None,
        Action::Note(Note::Rejected(reject)) => format!("rejected {reject}"),
        Action::Note(Note::NeverStarted(key)) => format!("never {key}"),
        Action::Append { after, facts } => format!("append {} after {after}", facts.len()),
        Action::Publish(facts) => format!("publish {}", facts.len()),
        Action::Start { key, .. } => format!("start {key}"),
        Action::Cancel { key, mode: how } => format!("{how:?} {key}"),
        Action::Continue { key } => format!("continue {key}"),
        Action::StopAgent { call } => format!("stop the agent of {call}"),
        Action::Accept { token, first } => format!("accept {} at {first}", token.0),
        Action::Acknowledge { token, at } => format!("acknowledge {} at {at}", token.0),
        Action::Refuse { token, refusal } => format!("refuse {} {refusal:?}", token.0),
        Action::ReadMailbox { first } => format!("read the mailbox, first {first}"),
        Action::AcknowledgeRemote(replies) => format!("reply {replies:?}"),
        Action::SetTimer { timer, after_ms } => format!("{timer:?} in {after_ms}"),
        Action::Checkpoint => "checkpoint".to_string(),
        Action::Exit(exit) => format!("exit {exit:?}"),
    })
}

pub(super) fn is_sample(key: &EffectKey) -> bool {
    matches!(key, EffectKey::Sample { .. })
}

pub(super) fn is_call(key: &EffectKey) -> bool {
    matches!(key, EffectKey::Call { .. })
}

pub(super) fn send(text: &str, key: Option<&str>) -> Input {
    Input::Send {
        scope: Scope::local(WHO),
        text: text.into(),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: key.map(String::from),
        dry_run: false,
        turn: None,
    }
}

pub(super) fn interrupt() -> Input {
    Input::Interrupt {
        by: InterruptSource::Person,
        scope: Scope::local(WHO),
        reason: "enough".into(),
        when: StopTiming::Now,
        turn: None,
    }
}

pub(super) fn call() -> Item {
    Item::Call(Arc::new(CallItem {
        provider_id: "c".into(),
        name: "write".into(),
        arguments: "{}".into(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    }))
}

pub(super) fn ended() -> SampleEvent {
    SampleEvent::Ended {
        stop: StopReason::Stop,
        usage: None,
        response_id: None,
        request: None,
        fault: None,
    }
}

pub(super) fn done(key: EffectKey) -> Input {
    let observation = Observation::new(ObservationStatus::Done, "ok");
    Input::CallEnded { key, observation }
}

pub(super) fn contains(actions: &[String], word: &str) -> bool {
    actions.iter().any(|action| action.starts_with(word))
}

#[test]
fn facts_decided_during_an_append_go_out_with_the_next_one() {
    let mut shell = Shell::new(setup(settings()));
    let one = shell.command(0, send("one", None));
    let after = shell.machine.durable();
    assert!(contains(&one, &format!("append {} after {after}", shell.machine.last().0 - after.0)));
    let two = shell.command(1, send("two", None));
    assert_eq!(two, [format!("accept 1 at {}", shell.machine.last())]);
    let appended = shell.appended();
    assert!(contains(&appended, "publish"), "{appended:?}");
    assert!(contains(&appended, "acknowledge 0"), "{appended:?}");
    assert!(!contains(&appended, "acknowledge 1"), "{appended:?}");
    assert!(contains(&appended, "append 1 after"), "{appended:?}");
    let appended = shell.appended();
    assert!(contains(&appended, "acknowledge 1"), "{appended:?}");
    assert!(!shell.machine.is_appending());
    assert_eq!(shell.machine.durable(), shell.machine.last());
}

#[test]
fn a_model_is_asked_while_its_facts_are_appended_and_a_tool_waits() {
    let mut shell = Shell::new(setup(settings()));
    let sent = shell.command(0, send("hello", None));
    assert!(contains(&sent, "start the sample"), "{sent:?}");
    let called = shell.sampled(SampleEvent::Item(call()));
    assert!(!contains(&called, "start"), "{called:?}");
    let appended = shell.appended();
    assert!(!contains(&appended, "start"), "its start is not durable: {appended:?}");
    let appended = shell.appended();
    assert!(contains(&appended, "start the run"), "{appended:?}");
}

#[test]
fn a_run_gets_the_fact_that_caused_it_and_a_stop_makes_it_wind_down() {
    let mut shell = Shell::calling();
    shell.machine.handle(Incoming { at: Timestamp(10), entropy: 0, input: MachineEvent::Appended });
    let cause = core::iter::from_fn(|| shell.machine.poll()).find_map(|action| {
        let Action::Start { cause, .. } = action else {
            return None;
        };
        Some(cause)
    });
    let start = cause.as_ref().and_then(RunCause::start);
    assert!(matches!(start, Some(EffectStart::Call(fact)) if fact.attempt == 1));
    let stopped = shell.command(1, interrupt());
    assert!(contains(&stopped, "Graceful the run"), "{stopped:?}");
    assert!(contains(&stopped, "Graceful the sample"), "{stopped:?}");
    assert!(!contains(&shell.handle(MachineEvent::Tick), "Graceful"), "it is told once");
}

#[test]
fn what_is_to_wind_down_and_never_began_is_decided_as_such() {
    let mut shell = Shell::calling();
    let stopped = shell.command(1, interrupt());
    assert!(contains(&stopped, "never the run"), "{stopped:?}");
    assert!(!shell.machine.running().keys().any(is_call));
}

#[test]
fn what_is_not_owed_any_more_is_dropped() {
    let mut shell = Shell::new(setup(settings()));
    shell.command(0, send("hello", None));
    let key = shell.running(is_sample);
    shell.sampled(SampleEvent::Item(Item::text("ok")));
    let ended_sample = shell.sampled(ended());
    assert!(contains(&ended_sample, &format!("Drop {key}")), "{ended_sample:?}");
    let late = shell.report(key, Input::SampleEvent { key, event: ended() }, true);
    assert!(contains(&late, "rejected"), "{late:?}");
}

#[test]
fn a_run_that_ended_by_itself_is_not_dropped() {
    let mut shell = Shell::calling();
    shell.appended();
    let key = shell.running(is_call);
    let ran = shell.report(key, done(key), true);
    assert!(!contains(&ran, "Drop"), "{ran:?}");
    assert!(!shell.machine.running().contains_key(&key));
}

#[test]
fn what_was_said_before_is_acknowledged_again() {
    let mut shell = Shell::new(setup(settings()));
    let first = shell.command(0, send("hello", Some("k")));
    shell.appended();
    let again = shell.command(1, send("hello", Some("k")));
    assert!(contains(&first, "accept 0 at"), "{first:?}");
    let at = |words: &[String], of: &str| {
        let word = words.iter().find(|word| word.starts_with(of)).unwrap();
        word.rsplit(' ').next().unwrap().to_string()
    };
    assert_eq!(at(&first, "accept"), at(&again, "accept"));
    assert_eq!(at(&again, "accept"), at(&again, "acknowledge"));
}

#[test]
fn a_session_waits_for_acknowledgements_unless_they_are_withdrawn() {
    let mut shell = Shell::new(setup(settings()));
    let token = CommandToken(7);
    assert!(contains(&shell.handle(MachineEvent::Flush { token }), "acknowledge 7"));
    shell.machine.waiting.push_back((Seq(900), token));
    assert!(!shell.machine.is_at_rest());
    shell.handle(MachineEvent::Withdrawn { token });
    assert!(shell.machine.is_at_rest());
}

#[test]
fn commands_wait_while_too_much_waits_for_the_store() {
    let mut shell = Shell::new(setup(settings()));
    shell.command(0, send("hello", None));
    assert!(shell.machine.accepts_commands());
    let one = shell.machine.appending.as_ref().unwrap()[0].clone();
    shell.machine.unsent = vec![one; append::BACKLOG];
    assert!(!shell.machine.accepts_commands());
}

#[test]
fn a_failed_append_ends_it_and_nothing_is_taken_in_any_more() {
    for (superseded, word) in [(true, "exit Superseded"), (false, "exit StoreFailed")] {
        let mut shell = Shell::new(setup(settings()));
        shell.command(0, send("hello", None));
        let failed = shell.handle(MachineEvent::AppendFailed { superseded });
        assert_eq!(failed, [word]);
        assert_eq!(shell.command(1, send("more", None)), Vec::<String>::new());
    }
}

#[test]
fn checkpoints_are_of_what_is_durable_one_at_a_time_and_large_ones_rare() {
    let mut shell = Shell::new(MachineSetup { checkpoint_every: 2, ..setup(settings()) });
    assert!(shell.machine.last_checkpoint().is_some());
    let sent = shell.command(0, send("hello", None));
    assert!(!contains(&sent, "checkpoint"), "it is not durable");
    assert!(contains(&shell.appended(), "checkpoint"));
    assert!(shell.machine.last_checkpoint().is_none(), "it was just written");
    shell.sampled(SampleEvent::Item(Item::text("ok")));
    shell.sampled(ended());
    shell.appended();
    let two = shell.appended();
    assert!(!contains(&two, "checkpoint"), "one is being written: {two:?}");
    let bytes = Some(256 * 1_000);
    assert!(!contains(&shell.handle(MachineEvent::Checkpointed { bytes }), "checkpoint"));
    assert_eq!(shell.machine.checkpoint_now().last(), shell.machine.last());
}

#[test]
fn a_decision_that_does_not_fit_is_a_defect() {
    fn twice(session: &Session, limits: &Limits, input: Incoming<Input>) -> Decided {
        let drafts = decide(session, limits, input)?;
        Ok(drafts.iter().chain(&drafts).cloned().collect())
    }
    type Decided = Result<Vec<Draft>, Reject>;
    let mut shell = Shell::new(setup(settings()));
    shell.machine.transitions.decide = twice;
    let sent = shell.command(0, send("hello", None));
    assert!(contains(&sent, "exit Defect(InvalidFact"), "{sent:?}");
}

#[test]
fn what_cannot_come_to_rest_is_a_defect() {
    fn winds(session: &Session) -> Vec<DesiredEffect> {
        let key = EffectKey::Sample { started: session.next };
        vec![DesiredEffect { key, demand: Demand::Cancel, requires_durable: Seq::ZERO }]
    }
    let mut shell = Shell::new(setup(settings()));
    shell.machine.transitions.desired_effects = winds;
    let ticked = shell.handle(MachineEvent::Tick);
    assert!(contains(&ticked, "exit Defect(NeverStarted"), "{ticked:?}");
}

#[test]
fn nobody_is_asked_in_the_session_of_an_agent() {
    let parent = SessionId::new("p").unwrap();
    let child = Lineage::Child { of: parent, call: crate::id::CallId(7) };
    for (lineage, asks) in [(Lineage::Root, true), (child, false)] {
        let mut shell = Shell::calling_in(lineage);
        shell.sampled(ended());
        shell.appended();
        let key = shell.running(|key| matches!(key, EffectKey::Call { .. }));
        let question = UserQuestion { question: "Which?".into(), choices: Vec::new() };
        let suspension =
            Suspension { state: "s".into(), question: Some(question), repeatable: false };
        shell.report(key, Input::CallSuspended { key, suspension }, true);
        let call = &shell.machine.session().turn().unwrap().calls()[0];
        assert_eq!(matches!(call.progress, CallProgress::AwaitingResult { .. }), asks);
        let suspended = call.suspended.as_ref().unwrap();
        assert_eq!(
            suspended.answer.as_ref().map(|answer| answer.declined),
            (!asks).then_some(true)
        );
    }
}
