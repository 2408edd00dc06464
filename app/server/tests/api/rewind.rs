//! Rewinds: a session returns to an earlier point of its conversation, in place.

use serde_json::{Value, json};
use windlass_testkit::provider::{say, stall};

use crate::client::READER;
use crate::world::{World, facts, problem};

#[tokio::test]
async fn a_session_is_rewound_in_place_and_goes_on() {
    let world = World::new([say("one"), say("two"), say("three"), stall()], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    server.turn(&id, "first").await;
    let to = facts(&server, &id).await.len();
    server.turn(&id, "second").await;
    let all = facts(&server, &id).await.len();

    let path = format!("/sessions/{id}/rewind");
    let point = json!({ "to": to });
    let rewound = server.post(&path, &point).key("k").send().await.is(202);
    assert_eq!(rewound, json!({ "to": to }));
    let log = facts(&server, &id).await;
    assert_eq!(log.len(), all + 1, "the log stays whole");
    assert_eq!(log[all]["kind"], "SessionRewound");
    assert_eq!(log[all]["body"]["to"], json!(to));
    server.post(&path, &point).key("k").send().await.is(202);
    assert_eq!(facts(&server, &id).await.len(), all + 1, "it was done once");
    let answer = server.post(&path, &json!({ "to": 1 })).key("k").send().await;
    assert_eq!(answer.problem(), problem(422, "key_reused"), "the session stays at {to}");
    assert_eq!(facts(&server, &id).await.len(), all + 1);

    assert_eq!(server.turn(&id, "other").await["answer"], "three");
    let prompts = world.provider.prompts();
    let last = format!("{:?}", prompts.last().unwrap().items);
    assert!(last.contains("\"first\"") && !last.contains("\"second\""), "{last}");

    for (to, code) in
        [(to - 3, "no_rewind_here"), (to + 2, "no_rewind_here"), (1_000, "no_rewind_here")]
    {
        let answer = server.post(&path, &json!({ "to": to })).send().await;
        assert_eq!(answer.problem(), problem(409, code), "{to}");
    }
    for wrong in [json!({}), json!({"to": -1}), json!({"at": 1})] {
        let answer = server.post(&path, &wrong).send().await;
        assert_eq!(answer.problem(), problem(400, "bad_request"), "{wrong}");
    }
    let answer = server.post(&path, &point).with(READER).send().await;
    assert_eq!(answer.problem(), problem(403, "forbidden"));

    let turns = format!("/sessions/{id}/turns");
    server.post(&turns, &json!({"text": "go"})).send().await.is(202);
    let answer = server.post(&path, &point).send().await;
    assert_eq!(answer.problem(), problem(409, "turn_running"));
    let _: Value = server.get(&format!("/sessions/{id}")).send().await.is(200);
}
