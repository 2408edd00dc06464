//! Subscribers: each fact once and in order, and a plain word when they lag or nothing follows.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_engine::core::{Delta, EffectClass, Seq};
use windlass_engine::ports::ProgressSink;
use windlass_engine::{DriverEnd, Event, LiveKind};
use windlass_testkit::Answer;
use windlass_testkit::provider::{Step, call, say};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{World, hello, id, me, soon};

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_lags_is_told_and_misses_no_fact() {
    let long = Step::from(Answer::new().text("word ".repeat(100)).pieces_of(1));
    let world = World::new([long], []);
    let conversation = world.open("s").await;
    let mut events = conversation.subscribe(Some(Seq::ZERO));
    let input = conversation.send(hello()).await.unwrap();
    conversation.outcome(input).await.unwrap();
    conversation.close().await;
    let (mut facts, mut lags, mut deltas) = (Vec::new(), 0, 0);
    loop {
        match soon(events.next()).await.unwrap() {
            Event::Fact(fact) => facts.push((**fact).clone()),
            Event::Lagged { missed } => {
                assert!(missed > 0);
                lags += 1;
            }
            Event::Live(live) => {
                let text = |kind: &LiveKind| match kind {
                    LiveKind::Delta { delta, .. } => matches!(delta, Delta::Text { .. }),
                    LiveKind::Progress { .. } => false,
                };
                deltas += live.iter().filter(|live| text(&live.kind)).count();
            }
            Event::Store(_) => {}
            Event::Ended(ended) => {
                assert!(matches!(&*ended, DriverEnd::Closed));
                break;
            }
        }
    }
    assert_eq!(facts, world.log());
    assert!(lags > 0 && deltas < 500, "{lags} lags, {deltas} deltas");
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_a_session_that_has_ended_is_told_after_its_facts() {
    let world = World::new([say("there")], []);
    let conversation = world.open("s").await;
    let (mut early, mut late_cursor) = (conversation.subscribe(None), conversation.subscribe(None));
    let input = conversation.send(hello()).await.unwrap();
    conversation.outcome(input).await.unwrap();
    conversation.close().await;
    let mut late = conversation.subscribe(Some(Seq(2)));
    let mut count = 0;
    while let Event::Fact(_) = soon(late.next()).await.unwrap() {
        count += 1;
    }
    assert_eq!(count + 2, world.log().len());
    for events in [&mut early, &mut late_cursor, &mut late] {
        while !matches!(soon(events.next()).await.unwrap(), Event::Ended(_)) {}
        assert!(matches!(soon(events.next()).await.unwrap(), Event::Ended(_)), "and again");
    }
    // A turn that is over can be asked for, also then.
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "there");
}

#[tokio::test(start_paused = true)]
async fn a_report_after_its_run_is_not_heard() {
    let kept: Arc<Mutex<Option<Arc<dyn ProgressSink>>>> = Arc::default();
    let keeps = kept.clone();
    let tool = ScriptedTool::new("tell", EffectClass::ReadOnly).runs(move |_, context| {
        context.progress.report("during");
        *keeps.lock().unwrap() = Some(context.progress.clone());
        Ok(windlass_engine::core::Observation::new(
            windlass_engine::core::ObservationStatus::Done,
            "",
        ))
    });
    let tools = Arc::new(ScriptedTools::new([tool]));
    let script = [call("tell", json!({})), say("told")];
    let provider = windlass_testkit::provider::ScriptedProvider::new(script);
    let store = windlass_testkit::faulty::FaultyStore::new();
    let world = World::over(store, Arc::new(provider), tools);
    let conversation = world.open("s").await;
    // From another task, so that it keeps up.
    let mut events = conversation.subscribe(None);
    let watching = tokio::spawn(async move {
        let mut reports = Vec::new();
        loop {
            match events.next().await.unwrap() {
                Event::Live(live) => {
                    reports.extend(live.iter().filter_map(|live| match &live.kind {
                        LiveKind::Progress { text, .. } => Some(text.clone()),
                        LiveKind::Delta { .. } => None,
                    }))
                }
                Event::Ended(_) => return reports,
                Event::Fact(_) | Event::Lagged { .. } | Event::Store(_) => {}
            }
        }
    });
    let input = conversation.send(hello()).await.unwrap();
    conversation.outcome(input).await.unwrap();
    kept.lock().unwrap().take().unwrap().report("after");
    conversation.close().await;
    assert_eq!(soon(watching).await.unwrap(), ["during"]);
    drop(world.engine.open(&id("s"), &me(), world.start()).await);
}
