//! What a step of a script does to a simulated world.

use std::sync::Arc;

use windlass_core::{
    ApprovalAnswer, ArgumentsDigest, CallId, CallProgress, CompactionResult, ContextPart, CutPoint,
    Edit, EffectKey, Fact, FailureKind, HookReply, Input, InputId, Item, Observation,
    ObservationStatus, ReasoningItem, RecordedFact, Retry, SampleEvent, SampleFailure, Scope, Seq,
    TurnId, Usage, child_result, fallback_summary, plan_compaction,
};
use windlass_ports::arguments_sha256;

use super::declared::{SUMMARY_USAGE, asks_outside, searched};
use super::driver::World;
use super::programs::spoken;
use super::script::{Compacted, Cost, Durability, Step, Word, picture, words};
use crate::laws::Held;

impl World {
    /// Does what a step says.
    ///
    /// # Errors
    /// [`Broken`](crate::laws::Broken) when law 12, 13 or 14 does not hold.
    pub fn step(&mut self, step: &Step) -> Held {
        self.tell(|| format!("> {step}"));
        self.happen(step)?;
        match self.durability {
            Durability::Prompt => self.sync(),
            Durability::Lazy => Ok(()),
        }
    }

    fn happen(&mut self, step: &Step) -> Held {
        match step {
            Step::Send { delivery, turn, key, dry_run, context, images, text } => {
                let part = |(from, text): &(String, String)| ContextPart {
                    from: from.clone(),
                    text: text.as_str().into(),
                };
                self.take(Input::Send {
                    scope: somebody(),
                    text: text.clone(),
                    delivery: *delivery,
                    context: context.iter().map(part).collect(),
                    images: (0..*images).map(picture).collect(),
                    key: key.clone(),
                    dry_run: *dry_run,
                    turn: turn.map(TurnId),
                })
            }
            Step::Edit { nth, text } => match self.input(*nth) {
                Some(input) => {
                    self.take(Input::EditInput { scope: somebody(), input, text: text.clone() })
                }
                None => Ok(()),
            },
            Step::Move { nth, before } => match self.input(*nth) {
                Some(input) => {
                    let before = before.and_then(|before| self.input(before));
                    self.take(Input::MoveInput { scope: somebody(), input, before })
                }
                None => Ok(()),
            },
            Step::Withdraw(nth) => match self.input(*nth) {
                Some(input) => self.take(Input::WithdrawInput { scope: somebody(), input }),
                None => Ok(()),
            },
            Step::Restored { of, path } => {
                let (of, paths) = (TurnId(*of), vec![path.clone()]);
                self.take(Input::FilesRestored { scope: somebody(), of, paths, more: 0 })
            }
            Step::Rename(to) => self.take(Input::Rename { scope: somebody(), title: words(to) }),
            Step::Rewind(to) => self.take(Input::Rewind { scope: somebody(), to: Seq(*to) }),
            Step::Goal(goal) => self.take(Input::SetGoal { scope: somebody(), goal: goal.clone() }),
            Step::Continue => self.take(Input::Continue),
            Step::Command { tool, arguments } => self.take(Input::RunCommand {
                scope: somebody(),
                text: format!("{tool} {arguments}"),
                call: Some(Arc::new(self.command_item(tool, arguments))),
            }),
            Step::Compact(on) => self.take(Input::Compact { scope: somebody(), focus: words(on) }),
            Step::Interrupt { by, when, turn } => self.take(Input::Interrupt {
                by: *by,
                scope: somebody(),
                reason: String::from("enough"),
                when: *when,
                turn: turn.map(TurnId),
            }),
            Step::Configure { posture, widening } => self.take(Input::Configure {
                scope: somebody(),
                settings: posture.settings(),
                widening: *widening,
            }),
            Step::Ceiling(posture) => self.narrow(posture.ceiling()),
            Step::Keyed { key, step } => {
                self.said_under = Some(key.clone());
                let held = self.happen(step);
                self.said_under = None;
                held
            }
            Step::Close => self.take(Input::Close),
            Step::Wait(ms) => {
                self.now = self.now.plus_ms(*ms);
                self.take(Input::Tick)
            }
            Step::Back(ms) => {
                self.now.0 = self.now.0.saturating_sub(*ms);
                Ok(())
            }
            Step::Text(text) => self.item(Item::text(text.as_str())),
            Step::Refusal(text) => self.item(Item::Refusal { text: text.as_str().into() }),
            Step::Reasoning(text) => self.item(Item::Reasoning(Arc::new(ReasoningItem {
                text: text.clone(),
                ..ReasoningItem::default()
            }))),
            Step::Call { tool, id, fault, arguments } => {
                let call = self.call_item(tool, id, fault.clone(), arguments);
                self.item(Item::Call(Arc::new(call)))
            }
            Step::End { stop, cost, fault } => self.news(SampleEvent::Ended {
                stop: stop.clone(),
                usage: usage(*cost),
                response_id: None,
                request: None,
                fault: fault.clone(),
            }),
            Step::Fail { kind, retry, cost, partial } => self.news(SampleEvent::Failed {
                failure: SampleFailure::new(*kind, *retry, "the provider said so"),
                partial: partial.clone(),
                usage: usage(*cost),
                asked: None,
            }),
            Step::Yielded(partial) => self.yielded(partial),
            Step::Finish { status, nth, took, output } => {
                match self.running(*nth, |key| matches!(key, EffectKey::Call { .. })) {
                    Some(key) => {
                        let observation = Observation::new(*status, output.clone());
                        let observation = searched(&self.machine, key, observation);
                        self.take(match *took {
                            Some(took) => Input::AgentEnded { key, observation, usage: took },
                            None => Input::CallEnded { key, observation },
                        })
                    }
                    None => Ok(()),
                }
            }
            Step::Suspend { nth, asks, repeatable } => self.suspend(*nth, *asks, *repeatable),
            Step::Detach { nth, output } => {
                match self.running(*nth, |key| matches!(key, EffectKey::Call { .. })) {
                    Some(key) => {
                        let observation = Observation::new(ObservationStatus::Done, output.clone());
                        self.take(Input::AgentDetached { key, observation })
                    }
                    None => Ok(()),
                }
            }
            Step::ChildEnded { nth, text } => match self.detached(*nth) {
                Some(call) => self.take(Input::ChildEnded {
                    scope: Scope::local("engine"),
                    call,
                    text: child_result("put", call, "It ended.", text),
                }),
                None => Ok(()),
            },
            Step::Spoken(source) => self.item(spoken(source)),
            Step::Program { nth, word } => self.program(*nth, word),
            Step::Hook { nth, verdict, edit, context, reason } => {
                match self.running(*nth, |key| matches!(key, EffectKey::Hook { .. })) {
                    Some(key) => {
                        let reply = HookReply {
                            verdict: *verdict,
                            reason: reason.clone(),
                            edit: edit.as_ref().map(|text| self.hook_edit(key.started(), text)),
                            context: context.as_deref().map(Arc::from),
                        };
                        self.take(Input::HookReplied { key, reply })
                    }
                    None => Ok(()),
                }
            }
            Step::Answer { nth, about, word } => self.answer(*nth, about.as_deref(), word),
            Step::Asked { nth, word } => {
                match self.running(*nth, |key| matches!(key, EffectKey::Approval { .. })) {
                    Some(key @ EffectKey::Approval { call, .. }) => {
                        let (scope, answer) = match word {
                            Some(word) => (Scope::local("approver"), self.word(call, word)),
                            None => nobody(),
                        };
                        self.take(Input::ApproverAnswered { key, scope, answer })
                    }
                    Some(_) | None => Ok(()),
                }
            }
            Step::Reconciled { nth, status, output } => match self
                .running(*nth, |key| matches!(key, EffectKey::Reconcile { .. }))
            {
                Some(key) => {
                    let observation = status.map(|status| Observation::new(status, output.clone()));
                    self.take(Input::CallReconciled { key, observation })
                }
                None => Ok(()),
            },
            Step::Submit { nth, status, output } => self.submit(*nth, *status, output),
            Step::Compacted(how) => {
                match self.running(0, |key| matches!(key, EffectKey::Compact { .. })) {
                    Some(key) => {
                        let compaction = match how {
                            Compacted::Sketched(summary) => self.compaction(key, summary),
                            Compacted::After(requests, summary) => {
                                self.compaction(key, summary).map(|done| CompactionResult {
                                    unmeasured: Some(*requests),
                                    usage: Some(SUMMARY_USAGE),
                                    ..done
                                })
                            }
                            Compacted::Idle => Ok(self.nothing_leaves()),
                            Compacted::Fails => Err(String::from("the script says so")),
                        };
                        self.take(Input::CompactionEnded { key, compaction })
                    }
                    None => Ok(()),
                }
            }
            Step::Late(nth) => self.late(*nth),
            Step::Never(nth) => {
                let mut owed = self.owed();
                owed.retain(|one| !self.machine.running().contains_key(&one.key));
                let keys: Vec<EffectKey> = owed.iter().map(|one| one.key).collect();
                match pick(&keys, *nth) {
                    Some(key) => self.take(Input::NeverStarted { key }),
                    None => Ok(()),
                }
            }
            Step::Sync => self.sync(),
            Step::Crash { lose, away_ms } => self.crash(*lose, *away_ms),
        }
    }

    /// Of the inputs that wait, the nth; of none, the latest that was sent.
    fn input(&self, nth: usize) -> Option<InputId> {
        let queue = &self.machine.session().queue;
        if let Some(nth) = nth.checked_rem(queue.len()) {
            return queue.get(nth).map(|queued| queued.id);
        }
        let sent = |recorded: &&RecordedFact| matches!(recorded.fact, Fact::InputQueued(_));
        self.log.iter().rfind(sent).map(|recorded| InputId(recorded.seq.0))
    }

    /// Of the calls whose agents are detached, the nth; of none, the latest that was.
    fn detached(&self, nth: usize) -> Option<CallId> {
        let detached = &self.machine.session().detached;
        if let Some(nth) = nth.checked_rem(detached.len()) {
            return detached.get(nth).map(|child| child.call);
        }
        self.log.iter().rev().find_map(|recorded| {
            let Fact::CallObserved(fact) = &recorded.fact else {
                return None;
            };
            fact.detached.then_some(fact.call)
        })
    }

    /// Of the effects of a kind that run, the nth.
    fn running(&self, nth: usize, kind: fn(&EffectKey) -> bool) -> Option<EffectKey> {
        let keys: Vec<EffectKey> = self.machine.running().keys().copied().filter(kind).collect();
        pick(&keys, nth)
    }

    fn item(&mut self, item: Item) -> Held {
        self.news(SampleEvent::Item(item))
    }

    /// The sample that runs says something; without one, nothing happens.
    fn news(&mut self, news: SampleEvent) -> Held {
        match self.running(0, |key| matches!(key, EffectKey::Sample { .. })) {
            Some(key) => self.take(Input::SampleEvent { key, event: news }),
            None => Ok(()),
        }
    }

    fn yielded(&mut self, partial: &str) -> Held {
        let told = |demand: &windlass_core::Demand| *demand == windlass_core::Demand::Yield;
        if !self.machine.running().values().any(told) {
            return Ok(());
        }
        self.news(steered(partial))
    }

    /// Somebody answers an open question, or speaks of a call that nobody asks about.
    fn answer(&mut self, nth: usize, about: Option<&str>, word: &Word) -> Held {
        let Some(turn) = self.machine.session().turn() else {
            return self.answer_late(about, word);
        };
        let all = turn.calls().iter();
        let asking = all.clone().filter(|call| match call.progress {
            CallProgress::AwaitingApproval { question } => question.is_some(),
            CallProgress::Proposed
            | CallProgress::Allowed
            | CallProgress::Denied { .. }
            | CallProgress::Running { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. } => false,
        });
        let mut calls: Vec<_> = asking.collect();
        if calls.is_empty() {
            calls = all.collect();
        }
        let Some(call) = nth.checked_rem(calls.len()).and_then(|nth| calls.get(nth)) else {
            return Ok(());
        };
        let digest = |text: &str| ArgumentsDigest::Sha256(arguments_sha256(text));
        let arguments = about.map_or(call.arguments_digest(), digest);
        let call = call.id;
        let answer = self.word(call, word);
        self.take(Input::Answer { call, scope: somebody(), arguments, answer })
    }

    /// Somebody answers the latest question, though its turn is over.
    fn answer_late(&mut self, about: Option<&str>, word: &Word) -> Held {
        let asked = self.log.iter().rev().find_map(|recorded| {
            let Fact::ApprovalAsked(fact) = &recorded.fact else {
                return None;
            };
            Some((fact.call, fact.arguments))
        });
        let Some((call, arguments)) = asked else {
            return Ok(());
        };
        let digest = |text: &str| ArgumentsDigest::Sha256(arguments_sha256(text));
        let answer = self.word(call, word);
        self.take(Input::Answer {
            call,
            scope: somebody(),
            arguments: about.map_or(arguments, digest),
            answer,
        })
    }

    fn word(&self, call: CallId, word: &Word) -> ApprovalAnswer {
        match word {
            Word::Allow { edit } => {
                ApprovalAnswer::Allow { edit: edit.as_ref().map(|text| self.call_edit(call, text)) }
            }
            Word::Deny { reason } => ApprovalAnswer::Deny { reason: reason.clone() },
        }
    }

    /// What a hook puts in the place of a prompt or of arguments, as whoever asks it finds it.
    fn hook_edit(&self, asked: Seq, text: &str) -> Edit {
        let fact = self.log.iter().find(|recorded| recorded.seq == asked);
        if let Some(Fact::HooksAsked(fact)) = fact.map(|recorded| &recorded.fact)
            && let Some(call) = fact.at.call()
        {
            return self.call_edit(call, text);
        }
        Edit::unchecked(text.into())
    }

    fn call_edit(&self, call: CallId, text: &str) -> Edit {
        let object: Result<serde_json::Map<String, serde_json::Value>, _> =
            serde_json::from_str(text);
        let tool = self.machine.history().call(call).map(|item| item.name.clone());
        let tool = tool.unwrap_or_default();
        Edit {
            text: text.into(),
            fault: object.err().map(|_| String::from("the arguments are not a JSON object")),
            rules: self.rules(&tool, text),
            possible_rules: self.possible_rules(&tool, text),
            outside_sandbox: asks_outside(text),
            sha256: Some(arguments_sha256(text)),
        }
    }

    /// The compaction that a run was started for, as an engine works it out: with the model's
    /// summary where one is wanted, and with a plain list where the script has none.
    pub(super) fn compaction(
        &self,
        key: EffectKey,
        summary: &str,
    ) -> Result<CompactionResult, String> {
        let mut facts = self.log.iter();
        let started = facts.find(|recorded| recorded.seq == key.started());
        let (Some(turn), Some(Fact::CompactionStarted(fact))) =
            (self.machine.session().turn(), started.map(|recorded| &recorded.fact))
        else {
            return Err(format!("{key} was not started"));
        };
        let sketch = plan_compaction(
            self.machine.history(),
            &turn.settings,
            turn.id,
            fact.strategy,
            fact.target_bytes,
        );
        let wanted = sketch.summary_prompt.is_some();
        let (text, fallback) = match (wanted, summary) {
            (false, _) => (None, None),
            (true, "") => {
                let plain = fallback_summary(
                    self.machine.history(),
                    &turn.settings,
                    turn.id,
                    &sketch.cut_point,
                );
                (Some(plain), Some(String::from("the model gave no summary")))
            }
            (true, summary) => (Some(summary.to_owned()), None),
        };
        let mut compaction = sketch.finish(self.machine.history(), turn.id, text);
        compaction.fallback = fallback;
        Ok(compaction)
    }

    fn nothing_leaves(&self) -> CompactionResult {
        CompactionResult {
            cut: CutPoint::default(),
            visible: self.machine.session().visible,
            usage: None,
            unmeasured: None,
            fallback: None,
        }
    }

    fn late(&mut self, nth: usize) -> Held {
        let Some(key) = pick(&self.past, nth) else {
            return Ok(());
        };
        let words = "late";
        let done = || Observation::new(ObservationStatus::Done, words);
        self.take(match key {
            EffectKey::Sample { .. } => {
                Input::SampleEvent { key, event: SampleEvent::Item(Item::text(words)) }
            }
            EffectKey::Call { .. } => Input::CallEnded { key, observation: done() },
            EffectKey::Hook { .. } => Input::HookReplied { key, reply: HookReply::pass() },
            EffectKey::Approval { .. } => Input::ApproverAnswered {
                key,
                scope: somebody(),
                answer: ApprovalAnswer::Allow { edit: None },
            },
            EffectKey::Reconcile { .. } => Input::CallReconciled { key, observation: Some(done()) },
            EffectKey::Compact { .. } => {
                Input::CompactionEnded { key, compaction: Ok(self.nothing_leaves()) }
            }
        })
    }
}

/// What a sample says that stops because the user spoke.
pub(super) fn steered(partial: &str) -> SampleEvent {
    SampleEvent::Failed {
        failure: SampleFailure::new(FailureKind::Steered, Retry::Never, "the user spoke"),
        partial: partial.to_owned(),
        usage: None,
        asked: None,
    }
}

/// What is said of a question that nobody could be asked.
fn nobody() -> (Scope, ApprovalAnswer) {
    let reason = String::from("nobody can be asked here");
    let scope = Scope::system(reason.clone());
    (scope, ApprovalAnswer::Deny { reason })
}

pub(super) fn somebody() -> Scope {
    Scope::local("somebody")
}

fn usage(cost: Cost) -> Option<Usage> {
    (cost != Cost::default()).then(|| Usage {
        input: cost.tokens,
        output: cost.out,
        ..Usage::default()
    })
}

/// Of some keys the nth, counted around.
pub(super) fn pick(keys: &[EffectKey], nth: usize) -> Option<EffectKey> {
    keys.get(nth.checked_rem(keys.len())?).copied()
}
