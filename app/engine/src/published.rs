//! Published events: facts and deltas, each with a text form that is made on first use and shared.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use windlass_core::RecordedFact;
use windlass_ports::codec::{self, CodecError};

use crate::event::LiveEvent;

/// A fact as it is published. All subscribers share one text form. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PublishedFact(Arc<CachedText<Arc<RecordedFact>>>);

/// Live deltas as they are published. All subscribers share one text form of each. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LiveBatch(Arc<CachedText<Vec<LiveEvent>>>);

#[derive(Debug)]
struct CachedText<T> {
    value: T,
    texts: OnceLock<Result<Vec<Bytes>, CodecError>>,
}

impl<T> CachedText<T> {
    fn new(told: T) -> Arc<Self> {
        let texts = OnceLock::new();
        Arc::new(Self { value: told, texts })
    }

    fn texts(
        &self,
        encode: impl FnOnce(&T) -> Result<Vec<Bytes>, CodecError>,
    ) -> Result<&[Bytes], &CodecError> {
        let texts = self.texts.get_or_init(|| encode(&self.value));
        texts.as_deref()
    }
}

impl PublishedFact {
    /// Returns the fact itself.
    #[must_use]
    pub fn fact(&self) -> &Arc<RecordedFact> {
        &self.0.value
    }

    pub(crate) fn texts(&self) -> Result<&[Bytes], &CodecError> {
        self.0.texts(|fact| Ok(vec![Bytes::from(codec::encode(fact)?)]))
    }
}

impl LiveBatch {
    pub(crate) fn texts(&self) -> Result<&[Bytes], &CodecError> {
        let encode = |live: &LiveEvent| serde_json::to_vec(live).map_err(CodecError::Malformed);
        self.0.texts(|all| {
            let texts = all.iter().map(|live| encode(live).map(Bytes::from));
            texts.collect()
        })
    }
}

impl Deref for PublishedFact {
    type Target = Arc<RecordedFact>;

    fn deref(&self) -> &Arc<RecordedFact> {
        &self.0.value
    }
}

impl Deref for LiveBatch {
    type Target = [LiveEvent];

    fn deref(&self) -> &[LiveEvent] {
        &self.0.value
    }
}

impl From<Arc<RecordedFact>> for PublishedFact {
    fn from(fact: Arc<RecordedFact>) -> Self {
        Self(CachedText::new(fact))
    }
}

impl From<PublishedFact> for Arc<RecordedFact> {
    fn from(published: PublishedFact) -> Self {
        published.0.value.clone()
    }
}

impl From<Vec<LiveEvent>> for LiveBatch {
    fn from(all: Vec<LiveEvent>) -> Self {
        Self(CachedText::new(all))
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{
        CallId, Fact, FactFormat, Seq, SessionId, SessionResumed, Timestamp, TurnId,
    };

    use super::*;
    use crate::event::{Event, LiveKind};

    #[test]
    fn a_fact_has_the_text_of_its_log_and_all_clones_share_it() {
        let fact = Arc::new(RecordedFact {
            format: FactFormat::CURRENT,
            session: SessionId::new("s").unwrap(),
            seq: Seq(2),
            turn: None,
            ts: Timestamp(7),
            cause: None,
            fact: Fact::SessionResumed(SessionResumed {}),
        });
        let event = Event::Fact(fact.clone().into());
        let other = event.clone();
        let [text] = event.json().unwrap() else { panic!("a fact is one text") };
        assert_eq!(*text, codec::encode(&fact).unwrap());
        let [again] = other.json().unwrap() else { panic!("a fact is one text") };
        assert_eq!(text.as_ptr(), again.as_ptr(), "it is made once");
    }

    #[test]
    fn each_delta_of_a_batch_has_its_text() {
        let live = |text: &str| LiveEvent {
            session: SessionId::new("s").unwrap(),
            turn: TurnId(2),
            ts: Timestamp(7),
            kind: LiveKind::Progress { call: CallId(4), text: text.to_owned() },
        };
        let all = vec![live("one"), live("two")];
        let event = Event::Live(all.clone().into());
        let texts = event.json().unwrap();
        let expected: Vec<_> = all.iter().map(|live| serde_json::to_vec(live).unwrap()).collect();
        assert_eq!(texts, expected);
        assert_eq!(texts.as_ptr(), event.clone().json().unwrap().as_ptr(), "they are made once");
        let nothing = Event::Lagged { missed: 1 };
        assert!(nothing.json().unwrap().is_empty());
    }
}
