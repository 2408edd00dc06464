//! A proxy that loses answers of connections that were asked for something: it cuts them when the server
//! answers, or goes silent on them for good.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use windlass_postgres::{PostgresConfig, PostgresStore};

use crate::common::TestSchema;

#[derive(Default)]
pub(crate) struct Faults {
    /// What is asked for where answers are lost.
    words: &'static [u8],
    /// How many answers to it are still to be lost, with their connections.
    pub(crate) losing: AtomicUsize,
    /// How many were.
    pub(crate) lost: AtomicUsize,
    /// How many connections that were ever asked for it are to say nothing more, and stay.
    pub(crate) silencing: AtomicUsize,
    /// How many do.
    pub(crate) silent: AtomicUsize,
}

impl Faults {
    pub(crate) fn of(words: &'static [u8]) -> Self {
        Self { words, ..Self::default() }
    }

    /// Whether one of so many is left.
    fn takes(left: &AtomicUsize) -> bool {
        let less = |left: usize| left.checked_sub(1);
        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    }
}

/// What a connection was asked for.
#[derive(Default)]
struct ConnectionRequest {
    /// And did not answer yet.
    now: AtomicBool,
    ever: AtomicBool,
}

/// Opens a store of a place by a proxy that has these faults.
pub(crate) async fn open_by(
    place: &TestSchema,
    faults: &Arc<Faults>,
    options: &str,
) -> PostgresStore {
    let (head, at) = place.url.split_once('@').unwrap();
    let (server, rest) = at.split_once('/').unwrap();
    let port = start(server.to_owned(), faults.clone()).await;
    let schema = &place.schema;
    let usual = "patience_ms=90000&lease_ms=60000";
    let url = format!("{head}@127.0.0.1:{port}/{rest}?schema={schema}&{usual}{options}");
    let config = PostgresConfig::parse(&url).unwrap();
    PostgresStore::connect(config).await.unwrap()
}

/// Starts a proxy before a server, and tells its port.
async fn start(server: String, faults: Arc<Faults>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(&server).await else {
                continue;
            };
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            let asked = Arc::new(ConnectionRequest::default());
            tokio::spawn(requests(from_client, to_server, asked.clone(), faults.clone()));
            tokio::spawn(answers(from_server, to_client, asked, faults.clone()));
        }
    });
    port
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    asked: Arc<ConnectionRequest>,
    faults: Arc<Faults>,
) {
    let (mut bytes, words) = (vec![0; 65_536], faults.words);
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let part = &bytes[..count];
        if part.windows(words.len()).any(|window| window == words) {
            asked.now.store(true, Ordering::SeqCst);
            asked.ever.store(true, Ordering::SeqCst);
        }
        if to.write_all(part).await.is_err() {
            return;
        }
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    asked: Arc<ConnectionRequest>,
    faults: Arc<Faults>,
) {
    let (mut bytes, mut silent) = (vec![0; 65_536], false);
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if asked.now.swap(false, Ordering::SeqCst) && Faults::takes(&faults.losing) {
            faults.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if !silent && asked.ever.load(Ordering::SeqCst) && Faults::takes(&faults.silencing) {
            faults.silent.fetch_add(1, Ordering::SeqCst);
            silent = true;
        }
        if !silent && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
