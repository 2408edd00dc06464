//! Events from any cursor, without a gap or a duplicate, whoever drives the session.

use windlass_testkit::Gate;
use windlass_testkit::provider::say;

use crate::client::{Seen, ask, facts, follow, text};
use crate::world::{BLIND, OTHER, TOKEN, World, halves, hello, soon};

#[tokio::test]
async fn a_stream_tells_the_log_as_it_is_exported() {
    let world = World::new([say("there"), say("again")]);
    let server = world.serve().await;
    server.turn("s").await;
    let mut stream = follow(server.address, "s", "").await;
    for header in [
        "content-type: text/event-stream\r\n",
        "cache-control: no-store\r\n",
        "x-accel-buffering: no\r\n",
    ] {
        assert!(stream.head.contains(header), "{}", stream.head);
    }
    let first = stream.block().await.unwrap();
    let retry: u64 = first.trim().strip_prefix("retry: ").unwrap().parse().unwrap();
    assert!((1_000..2_000).contains(&retry), "{retry}");
    let told = stream.up_to_settled().await;
    assert_eq!(facts(&told), world.exported("s"));
    assert_eq!(told.len(), world.exported("s").len(), "nothing but facts");
    // The session has no driver now; the next one is heard from its first word on.
    server.turn("s").await;
    let more = stream.up_to_settled().await;
    assert_eq!(text(&more), "again");
    assert_eq!([facts(&told), facts(&more)].concat(), world.exported("s"));
}

#[tokio::test]
async fn a_client_that_comes_back_at_any_moment_misses_nothing_and_is_told_nothing_twice() {
    let gate = Gate::new();
    let world = World::new([halves("one ", "two", &gate)]);
    let server = world.serve().await;
    let conversation = server.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    gate.reached().await;
    let mut first = follow(server.address, "s", "").await;
    let mut told: Vec<Seen> = Vec::new();
    while facts(&told).len() < world.log("s").len() {
        told.push(first.next().await.unwrap());
    }
    // Whatever there is of the stream goes with it.
    drop(first);
    gate.open();
    soon(conversation.outcome(input)).await.unwrap();
    let last = told.last().unwrap().id.unwrap();
    let header = format!("Last-Event-ID: {last}");
    let path = "/v1/sessions/s/events?after=0";
    let mut second = ask(server.address, "GET", path, Some(TOKEN), &[&header]).await;
    told.extend(second.up_to_settled().await);
    assert_eq!(facts(&told), world.exported("s"));
}

#[tokio::test]
async fn a_restart_of_the_server_shows_nowhere_in_the_facts() {
    let world = World::new([say("one"), say("two"), say("three")]);
    let mut told = Vec::new();
    for _ in 0..3 {
        let server = world.serve().await;
        let after = told.last().and_then(|seen: &Seen| seen.id).unwrap_or(0);
        if after > 0 {
            let mut stream = follow(server.address, "s", &format!("?after={after}")).await;
            server.turn("s").await;
            told.extend(stream.up_to_settled().await);
        } else {
            server.turn("s").await;
            told.extend(follow(server.address, "s", "").await.up_to_settled().await);
        }
        server.stop().await;
    }
    assert_eq!(facts(&told), world.exported("s"));
    let settled = told.iter().filter(|seen| seen.data.contains("TurnSettled"));
    assert_eq!(settled.count(), 3);
}

#[tokio::test]
async fn a_client_that_comes_in_the_middle_of_an_answer_is_told_each_character_once() {
    let gate = Gate::new();
    let world = World::new([halves("one ", "two", &gate)]);
    let server = world.serve().await;
    let conversation = server.open("s").await;
    conversation.send(hello()).await.unwrap();
    gate.reached().await;
    let mut streams = Vec::new();
    for query in ["", "?after=1", "?after=now"] {
        let mut stream = follow(server.address, "s", query).await;
        let mut told: Vec<Seen> = Vec::new();
        while text(&told).is_empty() {
            told.push(stream.next().await.unwrap());
        }
        assert_eq!(text(&told), "one ", "in one delta");
        streams.push((stream, told));
    }
    gate.open();
    for (mut stream, mut told) in streams {
        told.extend(stream.up_to_settled().await);
        assert_eq!(text(&told), "one two");
    }
    let after = follow(server.address, "s", "").await.up_to_settled().await;
    assert_eq!(text(&after), "", "it is in the log now");
}

#[tokio::test]
async fn from_now_on_begins_with_what_comes_and_live_may_be_left_out() {
    let world = World::new([say("one"), say("two")]);
    let server = world.serve().await;
    server.turn("s").await;
    let before = world.log("s").len();
    let mut now = follow(server.address, "s", "?after=now").await;
    let mut silent = follow(server.address, "s", "?after=now&live=false").await;
    // Both have told when to come back, so both are there.
    assert!(now.block().await.unwrap().starts_with("retry"));
    assert!(silent.block().await.unwrap().starts_with("retry"));
    server.turn("s").await;
    let (now, silent) = (now.up_to_settled().await, silent.up_to_settled().await);
    assert_eq!(facts(&now), world.exported("s")[before..]);
    assert_eq!(text(&now), "two");
    assert_eq!(facts(&silent), world.exported("s")[before..]);
    assert_eq!(silent.len(), facts(&silent).len());
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let world = World::new([say("there")]);
    let server = world.serve().await;
    server.turn("s").await;
    let last = world.log("s").len();
    for (query, header) in [
        (format!("?after={}", last + 1), None),
        (format!("?after={}", u64::MAX), None),
        (format!("?after={}", i64::MAX), None),
        ("?after=-1".to_owned(), None),
        (String::new(), Some("Last-Event-ID: x".to_owned())),
        (String::new(), Some(format!("Last-Event-ID: {}", last + 1))),
    ] {
        let path = format!("/v1/sessions/s/events{query}");
        let headers: Vec<&str> = header.iter().map(String::as_str).collect();
        let answer = ask(server.address, "GET", &path, Some(TOKEN), &headers).await;
        let told = answer.problem().await;
        assert_eq!(told, (400, "bad_cursor".to_owned()), "{path} {headers:?}");
    }
    let path = format!("/v1/sessions/s/events?after={last}");
    let at_the_end = ask(server.address, "GET", &path, Some(TOKEN), &[]).await;
    assert_eq!(at_the_end.status, 200);
}

#[tokio::test]
async fn nobody_is_told_of_a_session_that_is_not_there_for_them() {
    let world = World::new([say("there")]);
    let server = world.serve().await;
    server.turn("s").await;
    for (method, route) in [("GET", "events"), ("GET", "ws"), ("POST", "tickets")] {
        let socket: &[&str] = match route {
            "ws" => crate::sockets::UPGRADE,
            _ => &[],
        };
        for (session, token, expected) in [
            ("s", Some(OTHER), (404, "no_session")),
            ("t", Some(TOKEN), (404, "no_session")),
            ("..%2Fs", Some(TOKEN), (404, "no_session")),
            ("%FF", Some(TOKEN), (404, "no_session")),
            ("s", Some(BLIND), (403, "forbidden")),
            ("s", Some("guess"), (401, "unauthorized")),
            ("s", None, (401, "unauthorized")),
        ] {
            let path = format!("/v1/sessions/{session}/{route}");
            let answer = ask(server.address, method, &path, token, socket).await;
            let (status, code) = answer.problem().await;
            assert_eq!((status, code.as_str()), expected, "{path} {token:?}");
        }
    }
}

#[tokio::test]
async fn streams_are_counted_and_one_that_ends_makes_room() {
    let mut world = World::new([say("there")]);
    world.quota.streams = 2;
    let server = world.serve().await;
    server.turn("s").await;
    let streams = [follow(server.address, "s", "").await, follow(server.address, "s", "").await];
    let path = "/v1/sessions/s/events";
    let third = ask(server.address, "GET", path, Some(TOKEN), &[]).await;
    assert!(third.head.contains("retry-after: "), "{}", third.head);
    assert_eq!(third.problem().await, (429, "too_many_requests".to_owned()));
    drop(streams);
    let room = async {
        while ask(server.address, "GET", path, Some(TOKEN), &[]).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    soon(room).await;
}
