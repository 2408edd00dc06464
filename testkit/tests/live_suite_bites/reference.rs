//! A live relay in memory that keeps every promise of the port, or all but one.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::SessionId;
use windlass_ports::{
    LiveBus, LiveBusCapabilities, LiveReceiver, LiveSender, LogSignal, LogSignalSource,
};
use windlass_testkit::live::LiveFixture;

const MESSAGE_BYTES: usize = 4_096;
const HELD: usize = 16;

/// The one promise that the relay breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    HearsItself,
    EndsAtNul,
    FoldsNames,
    Swaps,
    Repeats,
    LosesQuietly,
    HoldsAll,
    CountsNothing,
    TakesAnySize,
    DropsTheLargeQuietly,
    TellsAgain,
    CountsItself,
    AnnouncesTheFirst,
    AnnouncesItself,
    NeverLapses,
    LapsesWithAny,
    NeverEnds,
}

/// A place whose relays all have the same fault.
pub(crate) struct Place {
    fault: Option<Fault>,
    openings: AtomicU64,
    air: Arc<Mutex<Air>>,
}

#[derive(Default)]
struct Air {
    ears: BTreeMap<String, Vec<Ear>>,
    asking: Vec<(u64, LogSignalSource)>,
    /// What was told last of a session, and how much of it in all.
    last: BTreeMap<String, (u64, Bytes)>,
    /// Ends that are never told.
    forgotten: Vec<Ear>,
}

struct Ear {
    node: u64,
    source: LiveSender,
    dropped: Arc<AtomicU64>,
}

impl Place {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self { fault, openings: AtomicU64::new(0), air: Arc::default() }
    }
}

#[async_trait]
impl LiveFixture for Place {
    async fn open(&self) -> Arc<dyn LiveBus> {
        Arc::new(Reference {
            node: self.openings.fetch_add(1, Ordering::SeqCst),
            fault: self.fault,
            air: self.air.clone(),
            dropped: Arc::default(),
        })
    }

    fn patience(&self) -> Duration {
        // What these leave out is waited for in vain, and the case is to find that.
        let hangs =
            [Fault::EndsAtNul, Fault::AnnouncesTheFirst, Fault::NeverLapses, Fault::NeverEnds];
        if self.fault.is_some_and(|fault| hangs.contains(&fault)) {
            Duration::from_millis(400)
        } else {
            Duration::from_secs(60)
        }
    }
}

struct Reference {
    node: u64,
    fault: Option<Fault>,
    air: Arc<Mutex<Air>>,
    dropped: Arc<AtomicU64>,
}

impl Reference {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn air(&self) -> MutexGuard<'_, Air> {
        self.air.lock().unwrap()
    }

    fn key(&self, session: &SessionId) -> String {
        match self.fault {
            Some(Fault::FoldsNames) => session.as_str().to_lowercase(),
            _ => session.to_string(),
        }
    }

    fn count(&self, to: &AtomicU64, more: u64) {
        if !self.is(Fault::CountsNothing) {
            to.fetch_add(more, Ordering::SeqCst);
        }
    }

    /// Lets those go that hear no more.
    fn tidy(&self, air: &mut Air, key: &str) {
        let Some(ears) = air.ears.get_mut(key) else {
            return;
        };
        let gone = ears.iter().any(|ear| ear.source.is_closed());
        if gone && self.is(Fault::LapsesWithAny) {
            ears.clear();
        }
        if !self.is(Fault::NeverLapses) {
            ears.retain(|ear| !ear.source.is_closed());
        }
    }
}

impl LiveBus for Reference {
    fn capabilities(&self) -> LiveBusCapabilities {
        LiveBusCapabilities {
            message_bytes: MESSAGE_BYTES,
            max_queued_messages: HELD,
            backlog_bytes: 0,
            linger_ms: 0,
        }
    }

    fn publish(&self, session: &SessionId, message: &[u8]) {
        let key = self.key(session);
        let mut air = self.air();
        self.tidy(&mut air, &key);
        let end = message.iter().position(|byte| *byte == 0);
        let message = match (self.fault, end) {
            (Some(Fault::EndsAtNul), Some(end)) => &message[..end],
            _ => message,
        };
        let message = Bytes::copy_from_slice(message);
        let entry = air.last.entry(key.clone()).or_default();
        let before = std::mem::replace(&mut entry.1, message.clone());
        entry.0 += 1;
        let number = entry.0;
        let own = self.is(Fault::HearsItself);
        let ears = air.ears.get(&key).into_iter().flatten();
        let ears = ears.filter(|ear| ear.node != self.node || own);
        if message.len() > MESSAGE_BYTES && !self.is(Fault::TakesAnySize) {
            self.count(&self.dropped, 1);
            if !self.is(Fault::DropsTheLargeQuietly) {
                ears.for_each(|ear| ear.source.mark_missed());
            }
            return;
        }
        for ear in ears {
            let messages = match self.fault {
                Some(Fault::Repeats) => vec![message.clone(), message.clone()],
                Some(Fault::Swaps) if number.is_multiple_of(5) => {
                    vec![message.clone(), before.clone()]
                }
                Some(Fault::LosesQuietly) if number.is_multiple_of(5) => vec![],
                _ => vec![message.clone()],
            };
            for message in messages {
                let gone = ear.source.send(message);
                self.count(&ear.dropped, gone);
            }
        }
    }

    fn has_subscribers(&self, session: &SessionId) -> bool {
        let key = self.key(session);
        let mut air = self.air();
        self.tidy(&mut air, &key);
        let own = self.is(Fault::CountsItself);
        let ears = air.ears.get(&key).into_iter().flatten();
        ears.into_iter().any(|ear| ear.node != self.node || own)
    }

    fn subscribe(&self, session: &SessionId) -> LiveReceiver {
        let key = self.key(session);
        let (held, bytes) = match self.fault {
            Some(Fault::HoldsAll) => (usize::MAX, usize::MAX),
            _ => (HELD, 1024 * 1024),
        };
        let (source, hearing) = LiveReceiver::new(held, bytes);
        let mut air = self.air();
        self.tidy(&mut air, &key);
        if let Some((_, last)) = air.last.get(&key).filter(|_| self.is(Fault::TellsAgain)) {
            source.send(last.clone());
        }
        let first = air.ears.get(&key).is_none_or(Vec::is_empty);
        let ear = Ear { node: self.node, source, dropped: self.dropped.clone() };
        air.ears.entry(key).or_default().push(ear);
        for (node, asks) in &air.asking {
            let other = *node != self.node || self.is(Fault::AnnouncesItself);
            if other && (first || !self.is(Fault::AnnouncesTheFirst)) {
                asks.publish(session);
            }
        }
        hearing
    }

    fn new_subscribers(&self) -> LogSignal {
        let (source, news) = LogSignal::new(1_000);
        self.air().asking.push((self.node, source));
        news
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::SeqCst)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let mut air = self.air.lock().unwrap();
        if self.is(Fault::NeverLapses) {
            return;
        }
        if !self.is(Fault::NeverEnds) {
            air.asking.retain(|(node, _)| *node != self.node);
        }
        let ears = std::mem::take(&mut air.ears);
        for (session, ears) in ears {
            for ear in ears {
                if ear.node != self.node {
                    air.ears.entry(session.clone()).or_default().push(ear);
                } else if self.is(Fault::NeverEnds) {
                    air.forgotten.push(ear);
                }
            }
        }
    }
}
