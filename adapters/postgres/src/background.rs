//! The tasks beside the store: telling others, hearing them, and asking beneath.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;
use tokio_postgres::types::Type;
use tokio_postgres_rustls::MakeRustlsConnect;
use windlass_core::SessionId;
use windlass_ports::StoreError;

use crate::bundle::BundleAssembly;
use crate::database::Database;
use crate::error::describe;
use crate::group::seq;
use crate::node::DepartureGuard;
use crate::store::StoreContext;

/// The first wait before listening is tried again, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Interval of probes of the listening connection, and their time-out.
const PING: Duration = Duration::from_secs(3);
const ANSWER: Duration = Duration::from_secs(5);
/// Time for which a new listener waits for its own notification, sent over another connection.
const ECHO: Duration = Duration::from_secs(5);
/// The time between one notification and the next: what grows meanwhile is told in one.
const PACE: Duration = Duration::from_millis(5);
/// The most sessions that are asked for in one statement.
const ASK: usize = 5_000;

/// The store object's presence in the database: when its last holder goes, the lease is given back.
pub(crate) struct StoreLeaseGuard {
    pub(crate) shared: Arc<StoreContext>,
    pub(crate) runtime: Handle,
}

impl Drop for StoreLeaseGuard {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.shared);
        shared.mailbox_waiters.close();
        shared.live.close();
        let leaving = DepartureGuard::of(&shared.node);
        self.runtime.spawn(async move {
            if let Err(error) = shared.node.release_lease().await {
                tracing::warn!(%error, "the lease was not given back: it ends by itself");
            }
            drop(leaving);
        });
    }
}

/// The channels of a schema's notifications.
#[derive(Debug, Clone)]
pub(crate) struct Channels {
    /// Channel for logs that grew.
    logs: String,
    /// Channel for letters and replies.
    pub(crate) mail: String,
    /// Channel for subscriptions.
    pub(crate) interest: String,
    /// Channel for live events.
    pub(crate) live: String,
    /// Channel for the probe of notifications.
    echo: String,
}

impl Channels {
    pub(crate) fn of(schema: &str) -> Self {
        let logs = format!("windlass_{:08x}", crc32c::crc32c(schema.as_bytes()));
        Self {
            mail: format!("{logs}_mail"),
            interest: format!("{logs}_hears"),
            live: format!("{logs}_live"),
            echo: format!("{logs}_echo"),
            logs,
        }
    }
}

/// Tells a channel something, in a transaction whose sync nobody waits for.
const NOTIFY: &str = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

/// Tells others which logs grew: one notification at a time, for all that grew meanwhile. It is a
/// transaction of its own, for one that notifies holds a lock of the whole server until it is synced.
/// Nobody waits for that sync: a notification does not outlive the server in any case, and the appends
/// of which it tells are durable.
pub(crate) async fn publish_appends(shared: Weak<StoreContext>, tails: Arc<crate::tails::Tails>) {
    loop {
        tails.to_notify.notified().await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if let Some(notice) = tails.notice(&shared.unique) {
            let channel = Channels::of(&shared.database.schema).logs;
            let params = &[(&channel as _, Type::TEXT), (&notice as _, Type::TEXT)];
            let told = shared.database.rows("telling of an append", NOTIFY, params).await;
            if let Err(error) = told {
                tracing::debug!(%error, "others were not told of an append: they find it by asking");
            }
        }
        drop(shared);
        tokio::time::sleep(PACE).await;
    }
}

/// Asks for what is waited for: what was heard of at once, all of it every `poll`.
pub(crate) async fn ask(
    shared: Weak<StoreContext>,
    tails: Arc<crate::tails::Tails>,
    poll: Duration,
) {
    let mut ticks = tokio::time::interval(poll);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let all = tokio::select! {
            _ = ticks.tick() => true,
            () = tails.to_ask.notified() => false,
        };
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let sessions = tails.to_ask(all);
        for sessions in sessions.chunks(ASK) {
            if let Err(error) = ask_for(&shared, sessions).await {
                tracing::debug!(%error, "asking where logs end");
            }
        }
    }
}

async fn ask_for(shared: &StoreContext, sessions: &[SessionId]) -> Result<(), StoreError> {
    let sql = "select coalesce(s.last, 0) from unnest($1) with ordinality as g (id, place) \
               left join SCHEMA.sessions s using (id) order by g.place";
    let ids: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
    let params = &[(&ids as _, Type::TEXT_ARRAY)];
    let doing = "asking where logs end";
    let rows = shared.database.rows(doing, sql, params).await?;
    for (session, row) in sessions.iter().zip(rows) {
        let last: i32 = row.get(0);
        shared.tails.set_end(session, (last > 0).then(|| seq(last)));
    }
    Ok(())
}

/// Listens to what others tell, by a connection of its own, and again when that is lost.
pub(crate) async fn listen(
    shared: Weak<StoreContext>,
    server: tokio_postgres::Config,
    tls: MakeRustlsConnect,
) {
    let mut wait = FIRST_WAIT;
    let mut warned = false;
    let mut heard = ConnectionActivity::default();
    loop {
        match receive_notifications(&shared, &server, tls.clone(), &heard).await {
            Ok(()) => {}
            Err(ListenError::Lost(error)) => tracing::debug!(error, "listening to other nodes"),
            Err(ListenError::Pooled) => {
                let place = shared.upgrade().map(|shared| shared.database.location.clone());
                if let Some(place) = place.filter(|_| !warned) {
                    tracing::warn!(place, "{POOLED}");
                }
                warned = true;
            }
        }
        if std::mem::take(heard.anything.get_mut()) {
            wait = FIRST_WAIT;
            warned = false;
        }
        if shared.upgrade().is_none() {
            return;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// Notifications that a connection received.
#[derive(Default)]
struct ConnectionActivity {
    /// Notifications came by it.
    anything: AtomicBool,
    /// True if it, or the last connection that listened, listened to live events.
    streams: AtomicBool,
}

/// Reason why no notifications arrive.
enum ListenError {
    /// The connection could not be made, ended, or says nothing any more.
    Lost(String),
    /// It answers, and what is told does not come by it.
    Pooled,
}

impl From<String> for ListenError {
    fn from(error: String) -> Self {
        Self::Lost(error)
    }
}

/// Message about such a connection.
const POOLED: &str = "notifications do not come by the connection that listens: a pooler in \
    transaction mode stands between, or the server is overloaded. What other nodes append is found by \
    asking each poll_ms, and nothing streams between nodes over this server. Name the server itself \
    with listen=URL, or say listen=never";

/// Hears until the connection ends or says nothing any more, or the store object is gone.
async fn receive_notifications(
    shared: &Weak<StoreContext>,
    server: &tokio_postgres::Config,
    tls: MakeRustlsConnect,
    heard: &ConnectionActivity,
) -> Result<(), ListenError> {
    let Some(strong) = shared.upgrade() else {
        return Ok(());
    };
    let channels = Channels::of(&strong.database.schema);
    let (tails, own) = (Arc::clone(&strong.tails), strong.unique.clone());
    let (mail, live) = (Arc::clone(&strong.mailbox_waiters), Arc::clone(&strong.live));
    let database = Arc::clone(&strong.database);
    drop(strong);
    let (client, mut connection) = answered(server.connect(tls)).await?;
    let mut assembly = BundleAssembly::default();
    let echoed = Notify::new();
    let driven = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            let message = message.map_err(|error| describe(&error))?;
            if let AsyncMessage::Notification(notification) = message {
                let (channel, notice) = (notification.channel(), notification.payload());
                if channel == channels.live {
                    if let Some((node, all)) = assembly.add_notice(notice) {
                        all.iter().for_each(|told| live.interest.receive(&node, told));
                    }
                } else if channel == channels.interest {
                    live.interest.receive_announcement(notice);
                } else if channel == channels.mail {
                    mail.receive(notice, &own);
                } else if channel == channels.echo {
                    if notice == own {
                        echoed.notify_one();
                    }
                } else {
                    tails.receive(notice, &own);
                }
            }
            if shared.strong_count() == 0 {
                return Ok(());
            }
        }
        Ok(())
    };
    let listening = async {
        let Channels { logs, mail: m, interest: hears, echo, .. } = &channels;
        answered(client.batch_execute(&format!("listen {echo}"))).await?;
        check_echo(&database, echo, &own, &echoed).await?;
        heard.anything.store(true, Ordering::SeqCst);
        let all = format!("unlisten {echo}; listen {logs}; listen {m}; listen {hears}");
        answered(client.batch_execute(&all)).await?;
        // What was told before this moment was not heard.
        tails.receive("", &own);
        mail.mark_all();
        if heard.streams.swap(false, Ordering::SeqCst) {
            live.interest.mark_missed();
        }
        let mut listens = false;
        let mut answers = Instant::now();
        // The connection lives as long as its client does.
        loop {
            // What streams is listened to only while somebody hears.
            let hears = live.interest.has_subscribers();
            if hears != listens {
                let word = if hears { "listen" } else { "unlisten" };
                let sql = format!("{word} {}", channels.live);
                answered(client.batch_execute(&sql)).await?;
                listens = hears;
                heard.streams.store(listens, Ordering::SeqCst);
            }
            // One that is gone without a word would be listened to for hours.
            if answers.elapsed() >= PING {
                answered(client.batch_execute("select 'listening'")).await?;
                answers = Instant::now();
            }
            if listens {
                live.listens();
            }
            let news = live.to_listen.notified();
            let _ = tokio::time::timeout(Duration::from_secs(1), news).await;
            if shared.strong_count() == 0 {
                return Ok(());
            }
        }
    };
    tokio::select! {
        ended = driven => ended,
        ended = listening => ended,
    }
}

/// Sees that what is told by another connection comes. A pooler in transaction mode takes the word to
/// listen and answers it, and then nothing comes: the session of the server that heard it is nobody's
/// while nothing is asked, as here.
async fn check_echo(
    database: &Database,
    channel: &String,
    own: &String,
    echoed: &Notify,
) -> Result<(), ListenError> {
    let doing = "looking whether notifications come";
    let params = &[(channel as _, Type::TEXT), (own as _, Type::TEXT)];
    let told = database.rows(doing, NOTIFY, params).await;
    told.map_err(|error| error.to_string())?;
    let heard = tokio::time::timeout(ECHO, echoed.notified()).await;
    heard.map_err(|_| ListenError::Pooled)
}

/// Runs a query on the listening connection, with a time-out.
async fn answered<T>(
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, String> {
    match tokio::time::timeout(ANSWER, asked).await {
        Ok(answer) => answer.map_err(|error| describe(&error)),
        Err(_) => Err(format!("no answer within {} s", ANSWER.as_secs())),
    }
}
