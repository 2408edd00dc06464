//! History: the payload of a session, folded for the model's eyes.
//!
//! A sample enters it whole: its items, then the observations of its calls in call order, once
//! the last of these is there. So each prefix of a log renders to a conversation in which every
//! call has its result, and the order in which tools finish does not show (laws 10 and 11).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::call::Observation;
use crate::chain::Chain;
use crate::error::Misfit;
use crate::fact::Fact;
use crate::id::{CallId, InputId, Seq};
use crate::item::{CallItem, Item};
use crate::record::Recorded;
use crate::render::PromptItem;

/// The payload of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    items: Chain<PromptItem>,
    waiting: BTreeMap<InputId, Arc<str>>,
    /// Items of the sample that has not entered yet, with their positions.
    arriving: Vec<(Seq, Item)>,
    /// Its calls, in their order.
    calls: Vec<Outstanding>,
    /// The sample, once its answer is whole.
    ended: Option<Seq>,
    /// Call ids that the conversation uses.
    ids: BTreeSet<Arc<str>>,
}

/// A call whose sample has not entered the conversation yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outstanding {
    id: CallId,
    call: Arc<CallItem>,
    observation: Option<Arc<Observation>>,
}

impl History {
    /// The conversation as far as it is whole.
    #[must_use]
    pub fn items(&self) -> &Chain<PromptItem> {
        &self.items
    }

    /// The text of an input that no turn has accepted yet.
    #[must_use]
    pub fn waiting(&self, input: InputId) -> Option<&Arc<str>> {
        self.waiting.get(&input)
    }

    /// A call whose sample has not entered the conversation yet.
    #[must_use]
    pub fn call(&self, id: CallId) -> Option<&Arc<CallItem>> {
        let call = self.calls.iter().find(|call| call.id == id)?;
        Some(&call.call)
    }

    /// Adds what a fact says.
    ///
    /// # Errors
    /// [`Misfit`] when the fact speaks of an input or a call that is not there.
    pub fn apply(&mut self, recorded: &Recorded) -> Result<(), Misfit> {
        match &recorded.fact {
            Fact::InputQueued(fact) => {
                self.waiting
                    .insert(InputId(recorded.seq.0), fact.text.clone());
            }
            Fact::InputAccepted(fact) => {
                let text = self.waiting.remove(&fact.input);
                let text = text.ok_or_else(|| misfit(recorded, "no such input waits"))?;
                self.items.push(PromptItem::User { text });
            }
            Fact::SampleStarted(_) | Fact::SampleCut(_) => {
                self.arriving.clear();
                self.calls.clear();
                self.ended = None;
            }
            Fact::ItemAdded(fact) => self.add(recorded.seq, &fact.item),
            Fact::SampleEnded(fact) => {
                self.ended = Some(fact.started);
                self.enter_if_whole();
            }
            Fact::CallObserved(fact) => self.observe(recorded, fact.call, &fact.observation)?,
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::TurnOpened(_)
            | Fact::CallDecided(_)
            | Fact::CallStarted(_)
            | Fact::InterruptRequested(_)
            | Fact::TurnSettled(_) => {}
        }
        Ok(())
    }

    fn add(&mut self, seq: Seq, item: &Item) {
        self.arriving.push((seq, item.clone()));
        if let Item::Call(call) = item {
            self.calls.push(Outstanding {
                id: CallId(seq.0),
                call: call.clone(),
                observation: None,
            });
        }
    }

    /// Lets the sample in once its answer is whole and each call has its observation.
    fn enter_if_whole(&mut self) {
        let Some(sample) = self.ended else { return };
        if self.calls.iter().any(|call| call.observation.is_none()) {
            return;
        }
        self.ended = None;
        let mut ids = Vec::new();
        for (seq, item) in core::mem::take(&mut self.arriving) {
            let entry = match item {
                Item::Text { text } => PromptItem::Text { sample, text },
                Item::Refusal { text } => PromptItem::Refusal { sample, text },
                Item::Reasoning(item) => PromptItem::Reasoning { sample, item },
                Item::Call(call) => {
                    let id = self.unique_id(seq, &call.provider_id);
                    ids.push(id.clone());
                    PromptItem::Call { sample, id, call }
                }
            };
            self.items.push(entry);
        }
        for (id, call) in ids.into_iter().zip(core::mem::take(&mut self.calls)) {
            if let Some(observation) = call.observation {
                self.items.push(PromptItem::Result { id, observation });
            }
        }
    }

    /// The provider's id of a call where the conversation does not use it yet; else one made
    /// from the call's position. Many servers start again at `call_0` with each answer.
    fn unique_id(&mut self, seq: Seq, provider_id: &str) -> Arc<str> {
        let mut id: Arc<str> = Arc::from(provider_id);
        let mut tries = 0_u32;
        while id.is_empty() || self.ids.contains(&id) {
            id = Arc::from(format!("call_w{seq}_{tries}").as_str());
            tries = tries.saturating_add(1);
        }
        self.ids.insert(id.clone());
        id
    }

    fn observe(
        &mut self,
        recorded: &Recorded,
        id: CallId,
        observation: &Arc<Observation>,
    ) -> Result<(), Misfit> {
        let call = self.calls.iter_mut().find(|call| call.id == id);
        let call = call.ok_or_else(|| misfit(recorded, "no such call is out"))?;
        if call.observation.is_some() {
            return Err(misfit(recorded, "the call has its observation already"));
        }
        call.observation = Some(observation.clone());
        self.enter_if_whole();
        Ok(())
    }
}

fn misfit(recorded: &Recorded, why: &str) -> Misfit {
    Misfit {
        at: recorded.seq,
        kind: recorded.fact.kind(),
        why: String::from(why),
    }
}
