//! Cases about several samples, and about those that nobody waits for any more.

use std::time::Duration;

use serde_json::json;
use windlass_core::FailureKind;
use windlass_ports::{ProviderError, SampleStream, StreamState};

use super::ProviderFixture;
use super::talk::{Talk, hello, says};
use crate::answer::Answer;
use crate::gate::Gate;
use crate::http::{Reply, Script};
use crate::store::{Checked, Violation, ensure, run};

/// How many samples run at once.
const AT_ONCE: usize = 12;
/// How long an answer that has stalled is waited for before it is dropped.
const STALLED: Duration = Duration::from_millis(30);

/// An answer that is dropped, wherever it stands, ends its request.
///
/// # Errors
/// A violation when the connection stays open.
pub fn a_dropped_answer_ends_its_request(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("Hello.").call("f", json!({ "a": 1 }));
    let length = fixture.protocol().events(&answer).concat().len();
    run(async {
        for at in [0, 1, length / 2, length - 40] {
            let what = format!("an answer dropped at byte {at}");
            let gate = Gate::new();
            let reply = Reply::answer(answer.clone()).pause_after(at, &gate);
            let talk = Talk::new(fixture, reply)?;
            let mut stream = begun(talk.provider.sample(hello()?).await)?;
            gate.reached().await;
            let mut events = Vec::new();
            let reading =
                async { while let Ok(StreamState::More) = stream.next(&mut events).await {} };
            let ended = tokio::time::timeout(STALLED, reading).await.is_ok();
            ensure!(!ended, "{what} had ended before it came to its end");
            drop(stream);
            talk.hung_up(0, &what).await?;
        }
        Ok(())
    })
}

/// A sample that is dropped before its answer begins ends its request.
///
/// # Errors
/// A violation when the connection stays open.
pub fn a_dropped_sample_ends_its_request(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let gate = Gate::new();
        let talk = Talk::new(fixture, Reply::say("too late").head_after(&gate))?;
        let began = tokio::select! {
            biased;
            _ = talk.provider.sample(hello()?) => true,
            () = gate.reached() => false,
        };
        ensure!(!began, "a sample returned before its answer had begun");
        talk.hung_up(0, "a sample dropped before its answer").await
    })
}

/// Samples of one provider run beside one another, and each has its own answer.
///
/// # Errors
/// A violation when one waits for another, or has another's.
pub fn answers_at_once_do_not_mix(fixture: &dyn ProviderFixture) -> Checked {
    let answer = |word: &str| {
        let word = word.repeat(5);
        let answer = Answer::new().text(word.as_str());
        answer.call("f", json!({ "a": word })).pieces_of(1)
    };
    let gates: Vec<Gate> = (0..AT_ONCE).map(|_| Gate::new()).collect();
    let held = gates.clone();
    let script = Script::respond(move |request| {
        let word = request.asked().user.unwrap_or_default();
        let number: usize = word.trim_start_matches("word-").parse().unwrap_or_default();
        let reply = Reply::answer(answer(&word)).split_every(7);
        match held.get(number) {
            Some(gate) => reply.pause_after(400, gate),
            None => reply,
        }
    });
    run(async {
        let talk = Talk::new(fixture, script)?;
        let mut asking = Vec::new();
        for number in 0..AT_ONCE {
            asking.push(talk.ask_for(says(&format!("word-{number}"))?));
        }
        let asking = join_all(asking);
        let opening = async {
            let reaching = async {
                for gate in &gates {
                    gate.reached().await;
                }
            };
            let reached = tokio::time::timeout(fixture.patience(), reaching).await;
            gates.iter().rev().for_each(Gate::open);
            reached.is_ok()
        };
        let (told, beside) = tokio::join!(asking, opening);
        ensure!(
            beside,
            "{AT_ONCE} samples did not run beside one another within {:?}",
            fixture.patience()
        );
        for (number, told) in told.into_iter().enumerate() {
            let what = format!("answer {number} of {AT_ONCE} at once");
            told?.is(&answer(&format!("word-{number}")), &what)?;
        }
        talk.was_asked(AT_ONCE, "answers at once")
    })
}

/// After a failure the same provider answers again, over a connection that is whole.
///
/// # Errors
/// A violation when it does not.
pub fn a_provider_goes_on_after_a_failure(fixture: &dyn ProviderFixture) -> Checked {
    let answer = Answer::new().text("Hello.");
    let failing = [
        Reply::raw(500, "no"),
        Reply::say("half").cut_after(150, crate::http::Cut::Fin),
        Reply::say("half").cut_after(150, crate::http::Cut::Rst),
        Reply::html(),
        Reply::say("half").omit_last(3),
    ];
    let whole = || Reply::answer(answer.clone());
    let script: Vec<Reply> = failing.into_iter().flat_map(|bad| [bad, whole()]).collect();
    run(async {
        let times = script.len() / 2;
        let talk = Talk::new(fixture, script)?;
        for time in 0..times {
            let what = format!("the sample after failure {time}");
            let error = talk.fails("a reply that is no answer").await?;
            ensure!(error.kind != FailureKind::Cancelled, "{error}");
            talk.ask().await?.is(&answer, &what)?;
        }
        talk.was_asked(2 * times, "failures and answers in turn")
    })
}

fn begun(
    sampled: Result<Box<dyn SampleStream>, ProviderError>,
) -> Result<Box<dyn SampleStream>, Violation> {
    sampled.map_err(|error| Violation::new(format!("the answer did not begin: {error}")))
}

/// Runs futures beside one another on this task.
async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, done) in &mut running {
            if done.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(output) => *done = Some(output),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, done)| done).collect()
}
