//! The way from one node to the store, which can be cut, or held so that what was sent arrives late.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the way does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Nothing arrives until it is open again. Then all of it does, as after a network that was gone.
    Held,
    /// Connections end, and new ones too.
    Cut,
}

/// A way to one server.
pub(crate) struct Proxy {
    pub(crate) at: SocketAddr,
    way: watch::Sender<Way>,
    /// Ended when this is dropped.
    _carried: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (way, seen) = watch::channel(Way::Open);
        let mut carried = JoinSet::new();
        carried.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    Some(_) = connections.join_next() => {}
                    Ok((client, _)) = listener.accept() => {
                        connections.spawn(carry(client, server, seen.clone()));
                    }
                }
            }
        });
        Self { at, way, _carried: carried }
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

/// Carries one connection until either end closes it, or it is cut.
async fn carry(client: TcpStream, server: SocketAddr, way: watch::Receiver<Way>) {
    let mut cut = way.clone();
    let carried = async {
        if open(way.clone()).await {
            let server = TcpStream::connect(server).await.unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (asked, told) = client.into_split();
            let (answers, questions) = server.into_split();
            tokio::join!(pump(asked, questions, way.clone()), pump(answers, told, way));
        }
    };
    tokio::select! {
        () = carried => {}
        _ = cut.wait_for(|way| *way == Way::Cut) => {}
    }
}

/// One direction. Ends with it, so that the other one may still be told its end.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: watch::Receiver<Way>) {
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if !open(way.clone()).await || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// Waits until it is open; false where that is never again.
async fn open(mut way: watch::Receiver<Way>) -> bool {
    way.wait_for(|way| *way == Way::Open).await.is_ok()
}
