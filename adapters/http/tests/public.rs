//! The wire for a model's requests: it reaches listed and public addresses, and no others, however
//! they are written.

#![expect(clippy::unwrap_used, reason = "it is all test code")]

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use windlass_http::public_wire;
use windlass_ports::{NetworkAccess, WireErrorKind, WireHeaders, WireRequest};

fn request(url: &str) -> WireRequest {
    let headers = WireHeaders::default();
    WireRequest { method: "GET", url: url.to_owned(), headers, body: None, head_ms: 10_000 }
}

async fn refusal(network: &NetworkAccess, url: &str) -> String {
    let wire = public_wire(network).unwrap();
    let sent = wire.send(request(url)).await;
    sent.map_or_else(|error| error.to_string(), |response| format!("{url}: {}", response.status))
}

#[tokio::test]
async fn what_is_not_public_is_refused_in_every_notation() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "10.1.2.3",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "192.168.0.1",
        "0.0.0.0",
    ] {
        let words = refusal(&NetworkAccess::All, &format!("http://{host}:9/")).await;
        assert!(words.contains("is not a public address"), "{host}: {words}");
    }
    let words = refusal(&NetworkAccess::All, "http://localhost:9/").await;
    assert!(words.contains("localhost leads to") && words.contains("not a public"), "{words}");
}

#[tokio::test]
async fn only_listed_hosts_are_reached_and_a_name_does_not_list_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut peer, _) = listener.accept().await.unwrap();
            let _ = peer.read(&mut [0; 1024]).await;
            let _ = peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    let url = format!("http://127.0.0.1:{port}/");
    let listed = |hosts: &[&str]| {
        NetworkAccess::Hosts(hosts.iter().map(|host| (*host).to_owned()).collect())
    };
    let words = refusal(&listed(&["a.example"]), &url).await;
    assert!(words.contains("does not list the host 127.0.0.1"), "{words}");
    let words = refusal(&listed(&["localhost"]), &format!("http://localhost:{port}/")).await;
    assert!(words.contains("not a public address"), "{words}");
    for (hosts, host) in
        [(vec!["127.0.0.1"], "127.0.0.1"), (vec!["localhost", "127.0.0.1", "::1"], "localhost")]
    {
        let wire = public_wire(&listed(&hosts)).unwrap();
        let response = wire.send(request(&format!("http://{host}:{port}/"))).await;
        assert!(response.is_ok(), "{host}");
    }
}

#[tokio::test]
async fn a_profile_without_a_network_has_no_wire() {
    let refused = public_wire(&NetworkAccess::Off).err().unwrap();
    assert_eq!(refused.kind, WireErrorKind::Invalid);
}
