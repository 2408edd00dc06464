//! Turn: the events of a running turn as a stream, and its answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, Stream, StreamExt as _, unfold};
use windlass_engine::core::{Delta, InputId};
use windlass_engine::{AwaitError, Event, LiveKind, SessionHandle, TurnReport, TurnStream};

use crate::answer::Answer;
use crate::conversation::TurnLock;
use crate::error::Error;

/// Running turn: a stream of its events, which ends with the turn.
///
/// [`answer`](Self::answer) then returns the result, or the error that ended the stream. Dropping a
/// turn does not stop it; [`handle`](Self::handle) interrupts it.
pub struct Turn {
    handle: SessionHandle,
    events: BoxStream<'static, Result<(Event, Option<TurnReport>), AwaitError>>,
    end: Option<Result<TurnReport, AwaitError>>,
    /// Lock of the conversation, until the turn has ended.
    lock: Option<TurnLock>,
}

impl Turn {
    pub(crate) fn new(handle: SessionHandle, input: InputId, lock: TurnLock) -> Self {
        let after = Some(windlass_engine::core::Seq(input.0));
        let events = handle.follow(handle.subscribe(after), input);
        Self { handle, events: stream(events), end: None, lock: Some(lock) }
    }

    /// Waits for the next piece of text that the model writes. Returns `None` at the end of the turn.
    ///
    /// The pieces add up to the text of the turn, with what the model writes before it calls a tool.
    /// Only a program that reads more slowly than the model writes misses some of it; the
    /// [`answer`](Self::answer) is whole. All events of the turn, of which text is one, come from the
    /// stream itself.
    ///
    /// ```no_run
    /// # async fn print(windlass: windlass::Windlass) -> windlass::Result {
    /// let mut turn = windlass.new_conversation()?.send("Tell me a story.").await?;
    /// while let Some(text) = turn.next_text().await {
    ///     print!("{text}");
    /// }
    /// let answer = turn.answer().await?;
    /// # Ok(()) }
    /// ```
    pub async fn next_text(&mut self) -> Option<String> {
        while let Some(event) = self.next().await {
            let Event::Live(live) = event else { continue };
            let texts = live.iter().filter_map(|live| match &live.kind {
                LiveKind::Delta { delta: Delta::Text { text, .. }, .. } => Some(text.as_str()),
                LiveKind::Delta { .. } | LiveKind::Progress { .. } => None,
            });
            let text: String = texts.collect();
            if !text.is_empty() {
                return Some(text);
            }
        }
        None
    }

    /// Waits for the end of the turn, and returns its answer.
    ///
    /// # Errors
    /// [`Error::Turn`] for every outcome except `Completed`, [`Error::Await`] when the end could not
    /// be observed.
    pub async fn answer(mut self) -> Result<Answer, Error> {
        while self.next().await.is_some() {}
        match self.end {
            Some(Ok(report)) => Answer::new(report),
            Some(Err(error)) => Err(error.into()),
            None => Err(Error::Config("the turn has no end, which is a defect".to_owned())),
        }
    }

    /// Returns the handle of the session, to steer or interrupt the turn.
    #[must_use]
    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }
}

/// Returns the events of a turn up to its end.
fn stream(turn: TurnStream) -> BoxStream<'static, Result<(Event, Option<TurnReport>), AwaitError>> {
    let step = |turn: Option<TurnStream>| async {
        let mut turn = turn?;
        let next = turn.next().await;
        let goes_on = matches!(next, Ok((_, None)));
        Some((next, goes_on.then_some(turn)))
    };
    unfold(Some(turn), step).boxed()
}

impl Stream for Turn {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.end.is_some() {
            return Poll::Ready(None);
        }
        match self.events.poll_next_unpin(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok((event, None)))) => Poll::Ready(Some(event)),
            Poll::Ready(Some(Ok((event, Some(report))))) => {
                self.end = Some(Ok(report));
                self.lock = None;
                Poll::Ready(Some(event))
            }
            Poll::Ready(Some(Err(error))) => {
                self.end = Some(Err(error));
                self.lock = None;
                Poll::Ready(None)
            }
            Poll::Ready(None) => Poll::Ready(None),
        }
    }
}
