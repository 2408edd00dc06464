//! What the cases share: three nodes at one place, and telling until somebody hears.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::SessionId;
use windlass_ports::{LiveBus, LiveBusCapabilities, LiveItem, LiveReceiver};

use super::{Checked, LiveFixture, Violation};
use crate::store::ensure;

/// How long is waited for one message before it is told again.
const PAUSE: Duration = Duration::from_millis(100);

/// Three nodes at one place.
pub(super) struct Three {
    pub(super) teller: Arc<dyn LiveBus>,
    pub(super) hearer: Arc<dyn LiveBus>,
    pub(super) third: Arc<dyn LiveBus>,
    pub(super) declared: LiveBusCapabilities,
    patience: Duration,
}

impl Three {
    pub(super) async fn open(at: &dyn LiveFixture) -> Result<Self, Violation> {
        let (teller, hearer) = (at.open().await, at.open().await);
        let declared = teller.capabilities();
        let LiveBusCapabilities {
            message_bytes,
            max_queued_messages: held,
            backlog_bytes,
            linger_ms,
        } = declared;
        ensure!(
            hearer.capabilities() == declared,
            "two objects at one place declare {declared:?} and {:?}",
            hearer.capabilities()
        );
        ensure!(
            message_bytes >= 4_096
                && (1..=65_536).contains(&held)
                && backlog_bytes <= 64 * 1024 * 1024
                && linger_ms <= 5_000,
            "{declared:?}: messages of 4,096 bytes at least, bounds, and in the suite 5 s of \
             lingering at most"
        );
        Ok(Self { teller, hearer, third: at.open().await, declared, patience: at.patience() })
    }

    /// Within what time an announcement comes, or lapses, with what a slow machine may take.
    pub(super) fn soon(&self) -> Duration {
        Duration::from_millis(self.declared.linger_ms) + self.patience
    }

    /// Waits until a session is heard, as this node knows it, or is not.
    pub(super) async fn until_heard(
        &self,
        by: &dyn LiveBus,
        session: &SessionId,
        heard: bool,
        when: &str,
    ) -> Checked {
        let until = Instant::now() + self.soon();
        while by.has_subscribers(session) != heard {
            ensure!(
                Instant::now() < until,
                "a session {} within {:?} {when}",
                if heard { "is not known to be heard" } else { "does not stop being heard" },
                self.soon()
            );
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// Begins to hear on the node that hears, and waits until the teller knows.
    pub(super) async fn heard(&self, session: &SessionId) -> Result<LiveReceiver, Violation> {
        let hearing = self.hearer.subscribe(session);
        let when = "since somebody elsewhere hears it";
        self.until_heard(&*self.teller, session, true, when).await?;
        Ok(hearing)
    }

    /// Tells until it is heard, and answers all that was heard up to that.
    pub(super) async fn tell_until_heard(
        &self,
        session: &SessionId,
        message: &[u8],
        hearing: &mut LiveReceiver,
    ) -> Result<Vec<LiveItem>, Violation> {
        let until = Instant::now() + self.soon();
        let mut all = Vec::new();
        while Instant::now() < until {
            self.teller.publish(session, message);
            while let Ok(heard) = tokio::time::timeout(PAUSE, hearing.next()).await {
                let Some(heard) = heard else {
                    return Err(Violation::new("a hearing ended while its relay is there"));
                };
                let is_it = matches!(&heard, LiveItem::Message(told) if told == message);
                all.push(heard);
                if is_it {
                    return Ok(all);
                }
            }
        }
        Err(Violation::new(format!(
            "a message of {} bytes was told again and again, and nobody heard it within {:?}; this \
             was heard: {}",
            message.len(),
            self.soon(),
            shown(&all)
        )))
    }
}

pub(super) fn session(text: &str) -> Result<SessionId, Violation> {
    SessionId::new(text).map_err(|error| Violation::new(format!("{text:?}: {error}")))
}

/// What was heard, short enough to be read.
pub(super) fn shown(all: &[LiveItem]) -> String {
    let one = |heard: &LiveItem| match heard {
        LiveItem::Message(message) => {
            let text = String::from_utf8_lossy(message.get(..20).unwrap_or(message)).into_owned();
            format!("{text:?}")
        }
        LiveItem::Missed => "missed".to_owned(),
    };
    let words: Vec<String> = all.iter().take(30).map(one).collect();
    format!("[{}] of {}", words.join(", "), all.len())
}
