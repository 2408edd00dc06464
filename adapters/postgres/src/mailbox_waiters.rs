//! Mail: who waits for letters and for replies, how others are told of them, and what is asked for
//! beneath. It is to the inbox what tails are to logs.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio_postgres::types::Type;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex as Lock;
use windlass_ports::{LogSignal, LogSignalSource, MailboxCommandId, StoreError};

use crate::database::Database;
use crate::store::StoreContext;

/// The most bytes of a notification; PostgreSQL takes 7,999.
const NOTICE_BYTES: usize = 7_900;
/// The most words that wait to be told; where there are more, others are told to look.
const WORDS: usize = 4_096;
/// The most sessions of which there is news at a time, for each who asks.
const NEWS: usize = 4_096;
/// The most replies that are asked for in one statement.
const ASK: usize = 256;
const IDLE: Duration = Duration::from_secs(30);
/// The shortest and the longest time between two times that old replies are taken away.
const SWEEPS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(60));

/// Waiters for letters and replies.
#[derive(Debug, Default)]
pub(crate) struct MailboxWaiters {
    arrivals: Lock<Vec<LogSignalSource>>,
    waiting: Lock<HashMap<(SessionId, MailboxCommandId), ReplyWaiter>>,
    /// Notices for other nodes, as payloads of a notification.
    notices: Lock<BTreeSet<String>>,
    pub(crate) to_notify: Notify,
    /// Notices from other nodes that are still to be looked up.
    received: Lock<ReplyNotices>,
    pub(crate) to_ask: Notify,
}

#[derive(Debug)]
struct ReplyWaiter {
    reply: watch::Sender<Option<Bytes>>,
    count: usize,
}

/// Notices from other nodes.
#[derive(Debug, Default)]
struct ReplyNotices {
    all: bool,
    replies: BTreeSet<(SessionId, MailboxCommandId)>,
}

/// Waits for one reply.
pub(crate) struct ReplyWait {
    mail: Arc<MailboxWaiters>,
    of: (SessionId, MailboxCommandId),
    pub(crate) reply: watch::Receiver<Option<Bytes>>,
}

impl MailboxWaiters {
    /// Begins to tell of arrivals: what waits already is asked for at once.
    pub(crate) fn arrivals(&self) -> LogSignal {
        let (source, news) = LogSignal::new(NEWS);
        self.arrivals.lock().push(source);
        self.received.lock().all = true;
        self.to_ask.notify_one();
        news
    }

    /// Begins to wait for a reply.
    pub(crate) fn wait(
        self: &Arc<Self>,
        session: &SessionId,
        letter: &MailboxCommandId,
    ) -> ReplyWait {
        let of = (session.clone(), letter.clone());
        let mut waiting = self.waiting.lock();
        let entry = waiting
            .entry(of.clone())
            .or_insert_with(|| ReplyWaiter { reply: watch::Sender::new(None), count: 0 });
        entry.count += 1;
        ReplyWait { mail: Arc::clone(self), of, reply: entry.reply.subscribe() }
    }

    /// A letter was left here: whoever asks is told, and others are to be.
    pub(crate) fn notify_arrival(&self, session: &SessionId) {
        self.notify_local(session);
        self.queue_notice(format!("+{session}"));
    }

    /// A reply was given here: who waits for it asks, and others are to be told.
    pub(crate) fn notify_acknowledged(&self, session: &SessionId, letter: &MailboxCommandId) {
        self.note_acknowledgement(session.clone(), letter.clone());
        self.queue_notice(format!("={session}/{letter}"));
    }

    fn queue_notice(&self, word: String) {
        let mut words = self.notices.lock();
        if words.len() < WORDS {
            words.insert(word);
        } else {
            // Whoever is told nothing in particular looks for everything.
            words.clear();
            words.insert(String::new());
        }
        drop(words);
        self.to_notify.notify_one();
    }

    /// Tells those who ask here; `false` where one has no room for more.
    fn notify_local(&self, session: &SessionId) -> bool {
        let mut arrivals = self.arrivals.lock();
        arrivals.retain(|source| !source.is_closed());
        // All of them are told, whichever has no room.
        let told = arrivals.iter().filter(|source| source.publish(session));
        told.count() == arrivals.len()
    }

    fn has_subscribers(&self) -> bool {
        let mut arrivals = self.arrivals.lock();
        arrivals.retain(|source| !source.is_closed());
        !arrivals.is_empty()
    }

    fn note_acknowledgement(&self, session: SessionId, letter: MailboxCommandId) {
        let of = (session, letter);
        if self.waiting.lock().contains_key(&of) {
            self.received.lock().replies.insert(of);
            self.to_ask.notify_one();
        }
    }

    /// Returns the pending notices as notifications.
    fn notices(&self, sender: &str) -> Vec<String> {
        let words = std::mem::take(&mut *self.notices.lock());
        let mut notices: Vec<String> = Vec::new();
        for word in words {
            match notices.last_mut() {
                Some(last) if last.len() + 1 + word.len() <= NOTICE_BYTES => {
                    last.push(' ');
                    last.push_str(&word);
                }
                _ => notices.push(format!("{sender} {word}")),
            }
        }
        notices
    }

    /// Takes a notification in, unless it is this store object's own.
    pub(crate) fn receive(&self, notice: &str, own: &str) {
        let mut words = notice.split(' ');
        if words.next() == Some(own) {
            return;
        }
        for word in words {
            let came = word.strip_prefix('+').and_then(|id| SessionId::new(id).ok());
            let replied = word.strip_prefix('=').and_then(|word| {
                let (session, letter) = word.split_once('/')?;
                Some((SessionId::new(session).ok()?, MailboxCommandId::new(letter).ok()?))
            });
            match (came, replied) {
                (Some(session), _) => {
                    self.notify_local(&session);
                }
                (None, Some((session, letter))) => self.note_acknowledgement(session, letter),
                (None, None) => self.mark_all(),
            }
        }
    }

    /// Something may have come that nobody told of.
    pub(crate) fn mark_all(&self) {
        self.received.lock().all = true;
        self.to_ask.notify_one();
    }

    /// Returns the awaited replies to look up, and true if letters must be looked up too.
    fn to_ask(&self, all: bool) -> (bool, Vec<(SessionId, MailboxCommandId)>) {
        let waiting = self.waiting.lock();
        let heard = std::mem::take(&mut *self.received.lock());
        if all || heard.all {
            return (true, waiting.keys().cloned().collect());
        }
        (false, heard.replies.into_iter().collect())
    }

    fn deliver(&self, of: &(SessionId, MailboxCommandId), reply: Bytes) {
        if let Some(waiting) = self.waiting.lock().get(of) {
            waiting.reply.send_replace(Some(reply));
        }
    }

    /// Ends all that tells of arrivals, and its tasks.
    pub(crate) fn close(&self) {
        self.arrivals.lock().clear();
        self.to_notify.notify_one();
        self.to_ask.notify_one();
    }
}

impl Drop for ReplyWait {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = self.mail.waiting.lock().entry(self.of.clone()) {
            entry.get_mut().count -= 1;
            if entry.get().count == 0 {
                entry.remove();
            }
        }
    }
}

/// Sends notifications in a transaction of their own, which is not synced: nothing is kept of them.
pub(crate) async fn notify(
    database: &Database,
    doing: &str,
    channel: &str,
    notices: &[String],
) -> Result<(), StoreError> {
    const SQL: &str = "select set_config('synchronous_commit', 'off', true), pg_notify($1, n) \
        from unnest($2) n";
    let params = &[(&channel as _, Type::TEXT), (&notices as _, Type::TEXT_ARRAY)];
    database.rows(doing, SQL, params).await.map(|_| ())
}

/// Tells others: one transaction at a time, for all that came meanwhile.
pub(crate) async fn send_notices(
    shared: Weak<StoreContext>,
    mail: Arc<MailboxWaiters>,
    channel: String,
) {
    loop {
        // It looks now and then whether there is a store yet.
        let _ = tokio::time::timeout(IDLE, mail.to_notify.notified()).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let notices = mail.notices(&shared.unique);
        if notices.is_empty() {
            continue;
        }
        let doing = "telling of letters";
        if let Err(error) = notify(&shared.database, doing, &channel, &notices).await {
            tracing::debug!(%error, "others were not told of letters: they find them by asking");
        }
    }
}

/// Asks for what is waited for: what was heard of at once, all of it every `poll`. Takes old replies
/// away.
pub(crate) async fn ask(
    shared: Weak<StoreContext>,
    mail: Arc<MailboxWaiters>,
    poll: Duration,
    replies_ms: u64,
) {
    let mut ticks = tokio::time::interval(poll);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let sweeps = Duration::from_millis(replies_ms / 4).clamp(SWEEPS.0, SWEEPS.1);
    let (mut swept, mut after) = (Instant::now(), None);
    loop {
        let all = tokio::select! {
            _ = ticks.tick() => true,
            () = mail.to_ask.notified() => false,
        };
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let (letters, replies) = mail.to_ask(all);
        let asked = async {
            for some in replies.chunks(ASK) {
                ask_for(&shared.database, &mail, some).await?;
            }
            if letters && mail.has_subscribers() {
                after = notify_waiting(&shared.database, &mail, after.take()).await?;
            }
            if swept.elapsed() >= sweeps {
                sweep(&shared.database, replies_ms).await?;
                swept = Instant::now();
            }
            Ok::<(), StoreError>(())
        };
        if let Err(error) = asked.await {
            tracing::debug!(%error, "asking for letters and replies");
        }
    }
}

async fn ask_for(
    database: &Database,
    mail: &MailboxWaiters,
    some: &[(SessionId, MailboxCommandId)],
) -> Result<(), StoreError> {
    const SQL: &str = "select g.place, r.body \
        from unnest($1, $2) with ordinality as g (session, id, place) \
        join SCHEMA.replies r on r.session = g.session and r.id = g.id";
    let sessions: Vec<&str> = some.iter().map(|(session, _)| session.as_str()).collect();
    let letters: Vec<&str> = some.iter().map(|(_, letter)| letter.as_str()).collect();
    let params = &[(&sessions as _, Type::TEXT_ARRAY), (&letters as _, Type::TEXT_ARRAY)];
    let rows = database.rows("asking for replies", SQL, params).await?;
    for row in rows {
        let place = usize::try_from(row.get::<_, i64>(0)).ok();
        if let Some(of) = place.and_then(|place| some.get(place.checked_sub(1)?)) {
            mail.deliver(of, row.get::<_, Vec<u8>>(1).into());
        }
    }
    Ok(())
}

/// Tells of sessions in which letters wait, after one; answers which was told last, or none where all
/// were.
async fn notify_waiting(
    database: &Database,
    mail: &MailboxWaiters,
    after: Option<SessionId>,
) -> Result<Option<SessionId>, StoreError> {
    let page = i64::try_from(NEWS).unwrap_or(i64::MAX);
    let sessions = waiting(database, after.as_ref(), page).await?;
    let full = sessions.len() == NEWS;
    let mut last = after;
    for session in sessions {
        if !mail.notify_local(&session) {
            // What has no room now comes first the next time.
            return Ok(last);
        }
        last = Some(session);
    }
    Ok(last.filter(|_| full))
}

/// The sessions in which letters wait.
pub(crate) async fn waiting(
    database: &Database,
    after: Option<&SessionId>,
    limit: i64,
) -> Result<Vec<SessionId>, StoreError> {
    const SQL: &str = "select distinct session from SCHEMA.letters where session > $1 \
        order by session limit $2";
    let after = after.map_or("", SessionId::as_str);
    let params = &[(&after as _, Type::TEXT), (&limit as _, Type::INT8)];
    let rows = database.rows("listing the sessions with letters", SQL, params).await?;
    let named = |row: &tokio_postgres::Row| SessionId::new(row.get(0)).ok();
    Ok(rows.iter().filter_map(named).collect())
}

async fn sweep(database: &Database, replies_ms: u64) -> Result<(), StoreError> {
    const SQL: &str = "delete from SCHEMA.replies \
        where given < clock_timestamp() - $1 * interval '1 millisecond'";
    let kept = i64::try_from(replies_ms).unwrap_or(i64::MAX);
    let params = &[(&kept as _, Type::INT8)];
    database.rows("taking old replies away", SQL, params).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> SessionId {
        SessionId::new(name).unwrap()
    }

    #[test]
    fn notices_tell_of_a_group_and_of_everything_where_that_is_too_much() {
        let mail = MailboxWaiters::default();
        let letter = MailboxCommandId::new("l.1").unwrap();
        mail.notify_arrival(&id("b"));
        mail.notify_arrival(&id("a"));
        mail.notify_arrival(&id("b"));
        mail.notify_acknowledged(&id("a"), &letter);
        assert_eq!(mail.notices("me"), ["me +a +b =a/l.1"]);
        assert!(mail.notices("me").is_empty());
        for number in 0..WORDS {
            mail.notify_arrival(&id(&format!("session-{number}")));
        }
        let notices = mail.notices("me");
        assert!(notices.len() > 1 && notices.iter().all(|it| it.len() <= NOTICE_BYTES));
        for number in 0..=WORDS {
            mail.notify_arrival(&id(&format!("session-{number}")));
        }
        assert_eq!(mail.notices("me"), ["me "]);
    }

    #[test]
    fn what_is_heard_is_asked_for_where_it_is_waited_for() {
        let mail = Arc::new(MailboxWaiters::default());
        let letter = MailboxCommandId::new("l").unwrap();
        let wait = mail.wait(&id("a"), &letter);
        mail.receive("me =a/l", "me");
        assert_eq!(mail.to_ask(false), (false, Vec::new()));
        mail.receive("other =a/l =b/l +c", "me");
        let asked = mail.to_ask(false);
        assert_eq!(asked, (false, vec![(id("a"), letter)]));
        mail.receive("other ", "me");
        assert!(mail.to_ask(false).0);
        drop(wait);
        assert_eq!(mail.to_ask(true), (true, Vec::new()));
    }
}
