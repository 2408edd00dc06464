//! A proxy that loses answers: a connection that was asked to append is cut when the server answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

#[derive(Default)]
pub(crate) struct Faults {
    /// How many answers to appends are still to be lost.
    pub(crate) losing: AtomicUsize,
    /// How many were.
    pub(crate) lost: AtomicUsize,
}

/// Starts a proxy before a server, and tells its port.
pub(crate) async fn start(server: String, faults: Arc<Faults>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            let asked = Arc::new(AtomicBool::new(false));
            tokio::spawn(requests(from_client, to_server, asked.clone()));
            tokio::spawn(answers(from_server, to_client, asked, faults.clone()));
        }
    });
    port
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, asked: Arc<AtomicBool>) {
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let part = &bytes[..count];
        if part.windows(6).any(|window| window == b".keep(") {
            asked.store(true, Ordering::SeqCst);
        }
        if to.write_all(part).await.is_err() {
            return;
        }
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    asked: Arc<AtomicBool>,
    faults: Arc<Faults>,
) {
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let less = |left: usize| left.checked_sub(1);
        let losing = asked.swap(false, Ordering::SeqCst)
            && faults
                .losing
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                .is_ok();
        if losing {
            faults.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
