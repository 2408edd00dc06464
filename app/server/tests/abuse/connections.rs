//! Connections: too many, and such as take nothing.

use tokio::io::AsyncWriteExt as _;
use windlass_server::{Quota, ServerLimits};

use crate::world::{Running, read};

#[tokio::test]
async fn an_address_has_so_many_connections_and_the_rest_are_closed() {
    let bounds = ServerLimits { connections_per_address: 3, ..ServerLimits::default() };
    let server = Running::with(bounds, Quota::default()).await;
    let request = format!("GET /v1/health HTTP/1.1\r\nHost: {}\r\n\r\n", server.at);
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut socket = server.connect().await;
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        tokio::io::AsyncReadExt::read_exact(&mut socket, &mut begin).await.unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200");
        held.push(socket);
    }
    for _ in 0..20 {
        let mut socket = server.connect().await;
        assert_eq!(read(&mut socket).await, "", "it is closed without a word");
    }
    // Those that are there are served as before.
    let mut socket = held.pop().unwrap();
    let request = request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let rest = read(&mut socket).await;
    assert!(rest.contains("HTTP/1.1 200"), "{rest}");
    drop((socket, held));
}

#[tokio::test]
async fn who_takes_nothing_is_cut_and_keeps_nobody_out_for_long() {
    let bounds = ServerLimits { connections: 1, stall_ms: 300, ..ServerLimits::default() };
    let server = Running::with(bounds, Quota::default()).await;
    let request = format!(
        "GET /v1/openapi.json HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.at,
        crate::world::TOKEN
    );
    let mut greedy = server.connect().await;
    // More than any buffer between the two takes; what is no longer read is no longer written.
    let asking = tokio::spawn(async move {
        for _ in 0..2_000 {
            if greedy.write_all(request.as_bytes()).await.is_err() {
                break;
            }
        }
        greedy
    });
    // There is one place, and it is taken until the other one is cut.
    let answer = server.bare("GET", "/v1/health", "", "").await;
    assert_eq!(answer.status, 200);
    let mut greedy = asking.await.unwrap();
    let taken = read(&mut greedy).await;
    let answers = taken.matches("HTTP/1.1 200").count();
    assert!(answers < 2_000, "all {answers} answers were buffered");
}

#[tokio::test]
async fn a_flood_of_connections_that_say_nothing_passes() {
    let bounds = ServerLimits { connections: 8, header_ms: 300, ..ServerLimits::default() };
    let server = Running::with(bounds, Quota::default()).await;
    let mut flood = Vec::new();
    for n in 0..64 {
        let mut socket = server.connect().await;
        if n % 2 == 0 {
            // It may have been closed already.
            let _ = socket.write_all(b"GET /v1/hea").await;
        }
        flood.push(socket);
    }
    let answer = server.bare("GET", "/v1/health", "", "").await;
    assert_eq!(answer.status, 200);
    drop(flood);
}
