//! Walking: the sessions of the agents below a session, by what the logs say.

use windlass_engine::ports::Tenants;
use windlass_engine::{child_session, child_sessions, unfinished_children};

use super::*;

#[tokio::test(start_paused = true)]
async fn the_sessions_of_agents_are_found_before_those_that_sent_them_out() {
    // Each sends out another one, as long as there is something to lend.
    let (provider, _) = model(|_, nth| match nth {
        0 => send_out(),
        _ => say("that is all"),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&["scout", "look"], 99), 7);
    world.turn().await;
    let below = async |name: &str| {
        let found = child_sessions(&world.store, &id(name)).await;
        assert!(found.unreadable.is_empty(), "{:?}", found.unreadable);
        let found = found.sessions.into_iter();
        let found = found.map(|sent| (sent.session, sent.agent, sent.of));
        found.collect::<Vec<_>>()
    };
    let sent = |session: &str, of: &str| (id(session), "scout".to_owned(), id(of));
    let all = [sent("s.6.6.6", "s.6.6"), sent("s.6.6", "s.6"), sent("s.6", "s")];
    assert_eq!(below("s").await, all);
    assert_eq!(below("s.6").await, all[..2]);
    let whose = child_session(&world.store, &id(CHILD)).await.unwrap().unwrap();
    assert_eq!((whose.of, whose.call, whose.agent.as_str()), (id("s"), CallId(6), "scout"));
    assert_eq!(child_session(&world.store, &id("s")).await.unwrap(), None);
    // Another session that has the name of one works for nobody.
    world.store.lose(&id("s.6.6"));
    drop(world.open("s.6.6").await);
    assert_eq!(below("s").await, all[2..]);
    world.store.lose(&id("s"));
    assert_eq!(child_sessions(&world.store, &id("s")).await.unreadable.len(), 1);
    let whose = child_session(&world.store, &id(CHILD)).await.unwrap().unwrap();
    assert_eq!(whose.agent, "", "nobody knows it any more");
}

#[tokio::test(start_paused = true)]
async fn agents_that_have_something_left_to_do_are_named() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s" | CHILD, 0) => send_out(),
        _ => stall(),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&["scout"], 9), 9);
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| count(&world.store.log(&id("s.6.6")), "SampleStarted") == 1).await;
    let second = world.next_process();
    let named = async |name: &str| {
        let found = unfinished_children(&second.store, &Tenants::All, &id(name)).await.unwrap();
        let found = found.into_iter().map(|sent| sent.session);
        found.collect::<Vec<_>>()
    };
    assert_eq!(named("s").await, [id("s.6"), id("s.6.6")]);
    assert_eq!(named("s.6").await, [id("s.6.6")]);
    assert_eq!(named("s.6.6").await, []);
}
