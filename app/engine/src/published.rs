//! Published: facts and deltas as they are published, each with a text form that is made once for
//! all who ask, when the first one does.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use windlass_core::Recorded;
use windlass_ports::codec::{self, CodecError};

use crate::event::Live;

/// A fact as it is published. All who are told of it share one text form. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Published(Arc<Shared<Arc<Recorded>>>);

/// Live deltas as they are published. All who are told of them share one text form each. Cheap to
/// clone.
#[derive(Debug, Clone)]
pub struct LiveBatch(Arc<Shared<Vec<Live>>>);

#[derive(Debug)]
struct Shared<T> {
    told: T,
    texts: OnceLock<Result<Vec<Bytes>, CodecError>>,
}

impl<T> Shared<T> {
    fn new(told: T) -> Arc<Self> {
        let texts = OnceLock::new();
        Arc::new(Self { told, texts })
    }

    fn texts(
        &self,
        encode: impl FnOnce(&T) -> Result<Vec<Bytes>, CodecError>,
    ) -> Result<&[Bytes], &CodecError> {
        let texts = self.texts.get_or_init(|| encode(&self.told));
        texts.as_deref()
    }
}

impl Published {
    /// Returns the fact itself.
    #[must_use]
    pub fn fact(&self) -> &Arc<Recorded> {
        &self.0.told
    }

    pub(crate) fn texts(&self) -> Result<&[Bytes], &CodecError> {
        self.0
            .texts(|fact| Ok(vec![Bytes::from(codec::encode(fact)?)]))
    }
}

impl LiveBatch {
    pub(crate) fn texts(&self) -> Result<&[Bytes], &CodecError> {
        let encode = |live: &Live| serde_json::to_vec(live).map_err(CodecError::Malformed);
        self.0.texts(|all| {
            let texts = all.iter().map(|live| encode(live).map(Bytes::from));
            texts.collect()
        })
    }
}

impl Deref for Published {
    type Target = Arc<Recorded>;

    fn deref(&self) -> &Arc<Recorded> {
        &self.0.told
    }
}

impl Deref for LiveBatch {
    type Target = [Live];

    fn deref(&self) -> &[Live] {
        &self.0.told
    }
}

impl From<Arc<Recorded>> for Published {
    fn from(fact: Arc<Recorded>) -> Self {
        Self(Shared::new(fact))
    }
}

impl From<Published> for Arc<Recorded> {
    fn from(published: Published) -> Self {
        published.0.told.clone()
    }
}

impl From<Vec<Live>> for LiveBatch {
    fn from(all: Vec<Live>) -> Self {
        Self(Shared::new(all))
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{
        CallId, FACT_VERSION, Fact, Seq, SessionId, SessionResumed, Timestamp, TurnId,
    };

    use super::*;
    use crate::event::{Event, LiveKind};

    #[test]
    fn a_fact_has_the_text_of_its_log_and_all_clones_share_it() {
        let fact = Arc::new(Recorded {
            v: FACT_VERSION,
            session: SessionId::new("s").unwrap(),
            seq: Seq(2),
            turn: None,
            ts: Timestamp(7),
            cause: None,
            fact: Fact::SessionResumed(SessionResumed {}),
        });
        let event = Event::Fact(fact.clone().into());
        let other = event.clone();
        let [text] = event.json().unwrap() else {
            panic!("a fact is one text")
        };
        assert_eq!(*text, codec::encode(&fact).unwrap());
        let [again] = other.json().unwrap() else {
            panic!("a fact is one text")
        };
        assert_eq!(text.as_ptr(), again.as_ptr(), "it is made once");
    }

    #[test]
    fn each_delta_of_a_batch_has_its_text() {
        let live = |text: &str| Live {
            session: SessionId::new("s").unwrap(),
            turn: TurnId(2),
            ts: Timestamp(7),
            kind: LiveKind::Progress {
                call: CallId(4),
                text: text.to_owned(),
            },
        };
        let all = vec![live("one"), live("two")];
        let event = Event::Live(all.clone().into());
        let texts = event.json().unwrap();
        let expected: Vec<_> = all
            .iter()
            .map(|live| serde_json::to_vec(live).unwrap())
            .collect();
        assert_eq!(texts, expected);
        assert_eq!(
            texts.as_ptr(),
            event.clone().json().unwrap().as_ptr(),
            "they are made once"
        );
        let nothing = Event::Lagged { missed: 1 };
        assert!(nothing.json().unwrap().is_empty());
    }
}
