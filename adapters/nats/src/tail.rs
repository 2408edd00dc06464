//! Following: a writer tells on a subject of its own that a log has grown, and beneath it the one who
//! follows looks by himself.

use futures_util::StreamExt as _;
use tokio::time::{Duration, Instant, timeout_at};
use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::server_error::ServerError;
use crate::store::{NatsStore, TAIL_MS};

impl NatsStore {
    /// Waits until a log ends after a position, or until the patience is over.
    pub(crate) async fn follow(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        let until = Instant::now() + patience;
        let (end, _) = self.ends(session, "following").await?;
        if end.last > after || patience.is_zero() {
            return Ok(end.last);
        }
        let subject = self.server.names.wake_subject(session);
        let woken = self.server.client.subscribe(subject).await;
        let mut woken = woken.map_err(|error| {
            ServerError::Unavailable(error.to_string()).in_store(&self.about("following", session))
        })?;
        // The server knows of the subscription before it answers what is asked next.
        loop {
            let (end, _) = self.ends(session, "following").await?;
            if end.last > after || Instant::now() >= until {
                return Ok(end.last);
            }
            let look = Instant::now() + Duration::from_millis(TAIL_MS);
            let told = timeout_at(look.min(until), woken.next()).await;
            if matches!(told, Ok(None)) {
                // The connection is closing; what is asked next says so.
                tokio::time::sleep_until(look.min(until)).await;
            }
        }
    }
}
