//! The scripted provider keeps its script, and is loud about everything else.

use std::sync::Arc;

use serde_json::json;
use windlass_core::{AppendList, Seq, SessionId, StreamEvent, TurnId};
use windlass_ports::StreamState;

use super::*;
use crate::gate::Gate;

fn request() -> SampleRequest {
    let settings = crate::settings().with(|it| it.model = "scripted".into());
    let prompt = Prompt { settings: Arc::new(settings), items: AppendList::default() };
    SampleRequest::new(SessionId::new("s").unwrap(), TurnId(2), Seq(4), prompt)
}

async fn drain(provider: &ScriptedProvider) -> Result<(Vec<StreamEvent>, usize), ProviderError> {
    let mut stream = provider.sample(request()).await?;
    let (mut events, mut reads) = (Vec::new(), 0);
    loop {
        reads += 1;
        if stream.next(&mut events).await? == StreamState::End {
            return Ok((events, reads));
        }
    }
}

#[tokio::test]
async fn gives_its_answers_in_order_and_then_misses_loudly() {
    let provider =
        ScriptedProvider::new([call("read", json!({ "path": "a" })), say("done").batched(1_000)]);
    let (events, _) = drain(&provider).await.unwrap();
    assert!(
        events.iter().any(|e| matches!(e, StreamEvent::CallOpened { name, .. } if name == "read"))
    );
    let (events, reads) = drain(&provider).await.unwrap();
    assert_eq!(reads, 1);
    assert!(events.contains(&StreamEvent::Text { slot: 0, text: "done".into() }));
    assert!(provider.misses().is_empty());

    let error = drain(&provider).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::InvalidRequest, Retry::Never));
    assert_eq!(provider.misses().len(), 1);
    assert_eq!(provider.prompts().len(), 3);
    assert_eq!(provider.ended(2).await, Ended::Failed);
}

#[tokio::test]
async fn a_cut_stream_fails_and_brings_no_whole_part() {
    let provider = ScriptedProvider::new([cut_after("half a sent")]);
    let mut stream = provider.sample(request()).await.unwrap();
    let mut events = Vec::new();
    let error = loop {
        match stream.next(&mut events).await {
            Ok(streaming) => assert_eq!(streaming, StreamState::More),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, FailureKind::Truncated);
    assert!(events.iter().any(|e| matches!(e, StreamEvent::Text { .. })));
    assert!(!events.iter().any(|e| matches!(e, StreamEvent::Done { .. })));
}

#[tokio::test]
async fn a_stall_ends_by_dropping_it_and_the_test_is_told() {
    let provider = ScriptedProvider::new([stall()]);
    let mut stream = provider.sample(request()).await.unwrap();
    let mut events = Vec::new();
    {
        let next = stream.next(&mut events);
        let mut next = std::pin::pin!(next);
        let poll = poll_once(next.as_mut()).await;
        assert!(poll.is_pending());
    }
    assert_eq!(provider.asked()[0].ended, None);
    drop(stream);
    assert_eq!(provider.ended(0).await, Ended::Dropped);
}

#[tokio::test]
async fn a_gate_in_a_stream_survives_a_dropped_read() {
    let gate = Gate::new();
    let provider = ScriptedProvider::new([say("one piece").end_after(&gate)]);
    let mut stream = provider.sample(request()).await.unwrap();
    let mut events = Vec::new();
    while !matches!(events.last(), Some(StreamEvent::Done { .. })) {
        assert_eq!(stream.next(&mut events).await.unwrap(), StreamState::More);
    }
    for _ in 0..2 {
        let next = stream.next(&mut events);
        let mut next = std::pin::pin!(next);
        assert!(poll_once(next.as_mut()).await.is_pending());
    }
    gate.reached().await;
    gate.open();
    assert_eq!(stream.next(&mut events).await.unwrap(), StreamState::End);
    assert_eq!(provider.ended(0).await, Ended::Whole);
}

#[tokio::test]
async fn a_refusal_has_its_status_and_a_function_answers_by_the_request() {
    let provider = ScriptedProvider::responding(|request| {
        assert_eq!(request.started, Seq(4));
        let failure = Failure::scripted(FailureKind::RateLimit, Retry::AfterMs(7));
        Step::refused(Failure { status: Some(429), ..failure })
    });
    for _ in 0..2 {
        let error = drain(&provider).await.unwrap_err();
        assert_eq!((error.details.status, error.retry), (Some(429), Retry::AfterMs(7)));
    }
}

/// Polls once.
async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx))).await
}
