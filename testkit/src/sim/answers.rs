//! Answers: what models, tools, hooks, approvers and compactions say, hostile or fair.

use std::collections::BTreeMap;

use windlass_core::{
    ApprovalAnswer, BudgetUsage, CallProgress, CompactionResult, CutPoint, Demand, EffectKey,
    FailureKind, HookReply, Input, Item, Observation, ObservationStatus, SampleEvent, Scope,
    StopReason,
};

use super::dice::Dice;
use super::driver::Driver;
use super::happening::{Covered, Happening};
use crate::world::random::FAILURES;
use crate::world::{WorldTool, is_program};

/// How an effect behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    /// It answers.
    Fair,
    /// It has no end of things to say.
    Endless,
    /// It fails like this.
    Fails(FailureKind),
    /// It never answers.
    Silent,
}

/// An effect that runs.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) temper: Temper,
    /// What it has said so far.
    pub(super) said: u32,
    /// The ids of the calls that it has brought.
    pub(super) ids: Vec<String>,
}

/// Items of one answer beyond which the engine's caps end it.
pub(super) const CAP: u32 = 12;

impl Work {
    /// An effect begins.
    pub(super) fn begin(key: EffectKey, dice: &mut Dice, covered: &mut Covered) -> Self {
        let temper = match key {
            EffectKey::Sample { .. } => {
                let kind = dice.pick(&FAILURES).copied().unwrap_or(FailureKind::Server);
                let tempers = [
                    (80, Temper::Fair),
                    (4, Temper::Endless),
                    (12, Temper::Fails(kind)),
                    (4, Temper::Silent),
                ];
                dice.weigh(&tempers).unwrap_or(Temper::Fair)
            }
            EffectKey::Call { .. } | EffectKey::Hook { .. } => match dice.chance(60) {
                true => Temper::Silent,
                false => Temper::Fair,
            },
            EffectKey::Approval { .. }
            | EffectKey::Reconcile { .. }
            | EffectKey::Compact { .. } => Temper::Fair,
        };
        match (key, temper) {
            (EffectKey::Sample { .. }, Temper::Silent) => covered.note(Happening::Silent),
            (EffectKey::Call { .. }, Temper::Silent) => covered.note(Happening::ToolNever),
            (EffectKey::Hook { .. }, Temper::Silent) => covered.note(Happening::HookNever),
            (_, Temper::Fair | Temper::Endless | Temper::Fails(_) | Temper::Silent) => {}
        }
        Self { temper, said: 0, ids: Vec::new() }
    }
}

/// Who answers, and what is counted.
pub(super) struct Answering<'a> {
    pub(super) driver: &'a Driver,
    /// The tools of the plan.
    pub(super) tools: &'a [WorldTool],
    pub(super) dice: &'a mut Dice,
    pub(super) covered: &'a mut Covered,
    /// True if a tool whose call is asked after has run.
    pub(super) ran: bool,
}

impl Answering<'_> {
    /// What an effect says next; nothing while it is silent.
    pub(super) fn next(
        &mut self,
        key: EffectKey,
        demand: Demand,
        work: &mut Work,
    ) -> Option<Input> {
        if work.temper == Temper::Silent && demand != Demand::Cancel {
            return self.timeout(key, work);
        }
        if work.temper == Temper::Silent && self.dice.chance(700) {
            // Not even when it is told to stop: the grace ends it.
            return None;
        }
        Some(match key {
            EffectKey::Sample { .. } => {
                Input::SampleEvent { key, event: self.sample(demand, work) }
            }
            EffectKey::Call { .. } if is_program(self.driver.session(), key) => {
                Input::ProgramEvent { key, event: self.programmed() }
            }
            EffectKey::Call { .. } => {
                let observation = self.observation(demand);
                match self.took(key) {
                    Some(took) => Input::AgentEnded { key, observation, usage: took },
                    None => Input::CallEnded { key, observation },
                }
            }
            EffectKey::Hook { .. } => {
                self.covered.note(Happening::HookSpeaks);
                let reply = self.reply(key);
                Input::HookReplied { key, reply }
            }
            EffectKey::Approval { call, .. } => {
                self.covered.note(Happening::Approved);
                let (scope, answer) = match self.dice.chance(150) {
                    true => {
                        let reason = String::from("nobody can be asked here");
                        (Scope::system(reason.clone()), ApprovalAnswer::Deny { reason })
                    }
                    false => (Scope::local("approver"), self.word(call)),
                };
                Input::ApproverAnswered { key, scope, answer }
            }
            EffectKey::Reconcile { .. } => {
                self.covered.note(Happening::Reconciled);
                let known = self.dice.chance(700);
                let observation = known.then(|| match self.ran {
                    true => Observation::new(ObservationStatus::Done, "it was done"),
                    false => Observation::new(ObservationStatus::Failed, "it never was done"),
                });
                Input::CallReconciled { key, observation }
            }
            EffectKey::Compact { .. } => {
                self.covered.note(Happening::Compacted);
                let compaction = self.compaction(key);
                Input::CompactionEnded { key, compaction }
            }
        })
    }

    /// What an agent took of what it was lent; `None` where a call runs none. Its last answer may be
    /// longer than was set aside for it.
    fn took(&mut self, key: EffectKey) -> Option<BudgetUsage> {
        let turn = self.driver.session().turn()?;
        let mut calls = turn.calls().iter();
        let runs = |progress: &CallProgress| matches!(progress, CallProgress::Running { started, .. } if *started == key.started());
        let call = calls.find(|call| runs(&call.progress))?;
        let lent = call.grant?;
        self.covered.note(Happening::AgentReturns);
        Some(BudgetUsage {
            samples: self.dice.below(lent.samples as usize + 1) as u32,
            tokens: self.dice.between(0, 600),
            cost_micros: self.dice.between(0, 400),
        })
    }

    /// What an effect says in a fair world.
    pub(super) fn fair(&mut self, key: EffectKey, demand: Demand, work: &mut Work) -> Input {
        let observation = |status, output: &str| Observation::new(status, output);
        match key {
            EffectKey::Sample { .. } => {
                work.said += 1;
                let news = match (demand, work.said) {
                    (Demand::Cancel, _) => self.failed(FailureKind::Cancelled, "stopped as asked"),
                    (Demand::Run | Demand::Yield, 1) => SampleEvent::Item(Item::text("ok")),
                    (Demand::Run | Demand::Yield, _) => SampleEvent::Ended {
                        stop: StopReason::Stop,
                        usage: None,
                        response_id: None,
                        request: None,
                        fault: None,
                    },
                };
                Input::SampleEvent { key, event: news }
            }
            EffectKey::Call { .. } => Input::CallEnded {
                key,
                observation: match demand {
                    Demand::Cancel => observation(ObservationStatus::Aborted, "stopped as asked"),
                    Demand::Run | Demand::Yield => observation(ObservationStatus::Done, "ok"),
                },
            },
            EffectKey::Hook { .. } => Input::HookReplied { key, reply: HookReply::pass() },
            EffectKey::Approval { .. } => Input::ApproverAnswered {
                key,
                scope: Scope::local("approver"),
                answer: ApprovalAnswer::Allow { edit: None },
            },
            EffectKey::Reconcile { .. } => Input::CallReconciled { key, observation: None },
            EffectKey::Compact { .. } => {
                let compaction = self.compacted(key, None);
                Input::CompactionEnded { key, compaction }
            }
        }
    }

    /// The engine waits for a silent model, tool or hook only so long.
    fn timeout(&mut self, key: EffectKey, work: &mut Work) -> Option<Input> {
        if !self.dice.chance(100) {
            return None;
        }
        work.said = CAP;
        Some(match key {
            EffectKey::Sample { .. } => Input::SampleEvent {
                key,
                event: self.failed(FailureKind::Timeout, "the model did not answer in time"),
            },
            EffectKey::Call { .. } => Input::CallEnded {
                key,
                observation: Observation::new(ObservationStatus::Unknown, "it took too long"),
            },
            EffectKey::Hook { .. } => {
                Input::HookReplied { key, reply: HookReply::failed("it took too long") }
            }
            EffectKey::Approval { .. }
            | EffectKey::Reconcile { .. }
            | EffectKey::Compact { .. } => return None,
        })
    }
}

/// A compaction that leaves all as it is.
pub(super) fn nothing_leaves(driver: &Driver) -> CompactionResult {
    CompactionResult {
        cut: CutPoint::default(),
        visible: driver.session().visible,
        usage: None,
        unmeasured: None,
        fallback: None,
    }
}

/// An answer to a run that is over.
pub(super) fn late(key: EffectKey, driver: &Driver) -> Input {
    let words = "late";
    let done = || Observation::new(ObservationStatus::Done, words);
    match key {
        EffectKey::Sample { .. } => {
            Input::SampleEvent { key, event: SampleEvent::Item(Item::text(words)) }
        }
        EffectKey::Call { .. } => Input::CallEnded { key, observation: done() },
        EffectKey::Hook { .. } => Input::HookReplied { key, reply: HookReply::pass() },
        EffectKey::Approval { .. } => Input::ApproverAnswered {
            key,
            scope: Scope::local("approver"),
            answer: ApprovalAnswer::Allow { edit: None },
        },
        EffectKey::Reconcile { .. } => Input::CallReconciled { key, observation: Some(done()) },
        EffectKey::Compact { .. } => {
            Input::CompactionEnded { key, compaction: Ok(nothing_leaves(driver)) }
        }
    }
}

/// Effects that run, and how they behave.
pub(super) type Works = BTreeMap<EffectKey, Work>;
