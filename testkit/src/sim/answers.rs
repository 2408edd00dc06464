//! Answers: what models, tools, hooks, approvers and compactions say, hostile or fair.

use std::collections::BTreeMap;

use windlass_core::{
    Answer, Compaction, Cut, Demand, EffectKey, FailureKind, HookReply, Input, Item, Observation,
    ObservationStatus, Progress, SampleNews, Scope, StopReason, Took,
};

use super::dice::Dice;
use super::driver::Driver;
use super::happening::{Covered, Happening};
use crate::world::is_program;
use crate::world::random::FAILURES;

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
        Self {
            temper,
            said: 0,
            ids: Vec::new(),
        }
    }
}

/// Who answers, and what is counted.
pub(super) struct Answering<'a> {
    pub(super) driver: &'a Driver,
    pub(super) dice: &'a mut Dice,
    pub(super) covered: &'a mut Covered,
    /// Whether a tool whose call is asked after has run.
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
        if work.temper == Temper::Silent && demand != Demand::Wind {
            return self.timeout(key, work);
        }
        if work.temper == Temper::Silent && self.dice.chance(700) {
            // Not even when it is told to stop: the grace ends it.
            return None;
        }
        Some(match key {
            EffectKey::Sample { .. } => Input::Sampled {
                key,
                news: self.sample(demand, work),
            },
            EffectKey::Call { .. } if is_program(self.driver.session(), key) => Input::Programmed {
                key,
                news: self.programmed(),
            },
            EffectKey::Call { .. } => {
                let observation = self.observation(demand);
                match self.took(key) {
                    Some(took) => Input::Returned {
                        key,
                        observation,
                        took,
                    },
                    None => Input::Ran { key, observation },
                }
            }
            EffectKey::Hook { .. } => {
                self.covered.note(Happening::HookSpeaks);
                let reply = self.reply(key);
                Input::Hooked { key, reply }
            }
            EffectKey::Approval { call, .. } => {
                self.covered.note(Happening::Approved);
                let (scope, answer) = match self.dice.chance(150) {
                    true => {
                        let reason = String::from("nobody can be asked here");
                        (Scope::system(reason.clone()), Answer::Deny { reason })
                    }
                    false => (Scope::local("approver"), self.word(call)),
                };
                Input::Asked { key, scope, answer }
            }
            EffectKey::Reconcile { .. } => {
                self.covered.note(Happening::Reconciled);
                let known = self.dice.chance(700);
                let observation = known.then(|| match self.ran {
                    true => Observation::new(ObservationStatus::Done, "it was done"),
                    false => Observation::new(ObservationStatus::Failed, "it never was done"),
                });
                Input::Reconciled { key, observation }
            }
            EffectKey::Compact { .. } => {
                self.covered.note(Happening::Compacted);
                let compaction = self.compaction(key);
                Input::Compacted { key, compaction }
            }
        })
    }

    /// What an agent took of what it was lent; `None` where a call runs none. Its last answer may be
    /// longer than was set aside for it.
    fn took(&mut self, key: EffectKey) -> Option<Took> {
        let turn = self.driver.session().turn()?;
        let mut calls = turn.calls().iter();
        let runs = |progress: &Progress| matches!(progress, Progress::Running { started, .. } if *started == key.started());
        let call = calls.find(|call| runs(&call.progress))?;
        let lent = call.lent?;
        self.covered.note(Happening::AgentReturns);
        Some(Took {
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
                    (Demand::Wind, _) => self.failed(FailureKind::Cancelled, "stopped as asked"),
                    (Demand::Run | Demand::Yield, 1) => {
                        SampleNews::Item(Item::Text { text: "ok".into() })
                    }
                    (Demand::Run | Demand::Yield, _) => SampleNews::Ended {
                        stop: StopReason::Stop,
                        usage: None,
                        response_id: None,
                        asked: None,
                        fault: None,
                    },
                };
                Input::Sampled { key, news }
            }
            EffectKey::Call { .. } => Input::Ran {
                key,
                observation: match demand {
                    Demand::Wind => observation(ObservationStatus::Aborted, "stopped as asked"),
                    Demand::Run | Demand::Yield => observation(ObservationStatus::Done, "ok"),
                },
            },
            EffectKey::Hook { .. } => Input::Hooked {
                key,
                reply: HookReply::pass(),
            },
            EffectKey::Approval { .. } => Input::Asked {
                key,
                scope: Scope::local("approver"),
                answer: Answer::Allow { edit: None },
            },
            EffectKey::Reconcile { .. } => Input::Reconciled {
                key,
                observation: None,
            },
            EffectKey::Compact { .. } => {
                let compaction = self.compacted(key, None);
                Input::Compacted { key, compaction }
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
            EffectKey::Sample { .. } => Input::Sampled {
                key,
                news: self.failed(FailureKind::Timeout, "the model did not answer in time"),
            },
            EffectKey::Call { .. } => Input::Ran {
                key,
                observation: Observation::new(ObservationStatus::Unknown, "it took too long"),
            },
            EffectKey::Hook { .. } => Input::Hooked {
                key,
                reply: HookReply::failed("it took too long"),
            },
            EffectKey::Approval { .. }
            | EffectKey::Reconcile { .. }
            | EffectKey::Compact { .. } => return None,
        })
    }
}

/// A compaction that leaves all as it is.
pub(super) fn nothing_leaves(driver: &Driver) -> Compaction {
    Compaction {
        cut: Cut {
            cleared: 0,
            left: 0,
            summary: None,
        },
        shown: driver.session().shown,
        usage: None,
        fallback: None,
    }
}

/// An answer to a run that is over.
pub(super) fn late(key: EffectKey, driver: &Driver) -> Input {
    let words = "late";
    let done = || Observation::new(ObservationStatus::Done, words);
    match key {
        EffectKey::Sample { .. } => Input::Sampled {
            key,
            news: SampleNews::Item(Item::Text { text: words.into() }),
        },
        EffectKey::Call { .. } => Input::Ran {
            key,
            observation: done(),
        },
        EffectKey::Hook { .. } => Input::Hooked {
            key,
            reply: HookReply::pass(),
        },
        EffectKey::Approval { .. } => Input::Asked {
            key,
            scope: Scope::local("approver"),
            answer: Answer::Allow { edit: None },
        },
        EffectKey::Reconcile { .. } => Input::Reconciled {
            key,
            observation: Some(done()),
        },
        EffectKey::Compact { .. } => Input::Compacted {
            key,
            compaction: Ok(nothing_leaves(driver)),
        },
    }
}

/// Effects that run, and how they behave.
pub(super) type Works = BTreeMap<EffectKey, Work>;
