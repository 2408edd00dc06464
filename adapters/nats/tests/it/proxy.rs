//! A way to a server that can be cut, or that loses the server's answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the way does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyMode {
    Open,
    /// What the server says does not arrive.
    Mute,
    /// Connections end, and new ones too.
    Cut,
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    /// What it does, and how often it has broken what there was.
    way: watch::Sender<(ProxyMode, u32)>,
    /// How many connections were made.
    made: Arc<AtomicU16>,
    _task: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let (way, seen) = watch::channel((ProxyMode::Open, 0));
        let made = Arc::new(AtomicU16::new(0));
        let count = made.clone();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                connections.spawn(carry(client, port, seen.clone()));
            }
        });
        Self { url, way, made, _task: task }
    }

    pub(crate) fn set(&self, way: ProxyMode) {
        self.way.send_modify(|(now, _)| *now = way);
    }

    /// Breaks all connections, and is open for new ones.
    pub(crate) fn break_all(&self) {
        self.way.send_modify(|(now, broken)| {
            *now = ProxyMode::Open;
            *broken += 1;
        });
    }

    pub(crate) fn connections(&self) -> u16 {
        self.made.load(Ordering::SeqCst)
    }
}

async fn carry(mut client: TcpStream, port: u16, mut way: watch::Receiver<(ProxyMode, u32)>) {
    let (now, began) = *way.borrow_and_update();
    if now == ProxyMode::Cut {
        return;
    }
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let (mut asked, mut told) = ([0; 8_192], [0; 8_192]);
    loop {
        tokio::select! {
            biased;
            changed = way.changed() => {
                let (now, broken) = *way.borrow();
                if changed.is_err() || now == ProxyMode::Cut || broken != began {
                    return;
                }
            }
            count = client.read(&mut asked) => match count {
                Ok(count @ 1..) => if server.write_all(&asked[..count]).await.is_err() { return },
                _ => return,
            },
            count = server.read(&mut told) => match count {
                Ok(count @ 1..) => {
                    if way.borrow().0 == ProxyMode::Open && client.write_all(&told[..count]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    }
}
