//! The conformance suite of the approver port: one case for each promise in [`Approver`]'s
//! documentation; [`approver_suite!`](crate::approver_suite) makes tests of them.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{ApprovalReason, ArgumentsDigest, CallId, Scope, SessionId, TurnId};
use windlass_ports::arguments_sha256;
use windlass_ports::{
    Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError, CancelSource, GrantOffer,
};

use crate::store::{Checked, Violation, run_in_parallel as run};

/// How often an approver that nobody answers is looked at before its question is taken back.
const LOOKS: u32 = 64;

/// An approver under test, and a person who answers it where it asks one.
pub trait ApproverFixture: Send + Sync {
    /// The approver.
    fn approver(&self) -> Arc<dyn Approver>;

    /// Has the person answer the next question like this; `false` where this approver never gets an
    /// answer by itself. It is the same each time.
    ///
    /// Where it is `false`, the three cases of an answer hold the approver to the opposite: each
    /// question of theirs is asked with nobody to answer it, and must not be allowed. Nothing of the
    /// suite is passed over.
    fn person(&self, answer: &ApprovalDecision) -> bool;

    /// How long a question that nobody needs the answer of may take to end.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// Expands to one `#[test]` for each case of the approver suite. The expression makes a fresh
/// [`ApproverFixture`](crate::approver::suite::ApproverFixture) for each.
#[macro_export]
macro_rules! approver_suite {
    ($fixture:expr) => {
        $crate::approver_cases! { [$crate::suite_tests] approver_suite, approver::suite, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! approver_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            what_the_person_says_is_the_answer,
            a_question_that_is_cancelled_before_it_is_asked_ends,
            a_question_that_is_cancelled_ends_soon,
            a_dropped_question_leaves_the_approver_in_order,
            asking_again_is_harmless,
        }
    };
}

crate::approver_cases! { [crate::suite::table] }

/// One case of the suite: holds an approver to one promise.
pub type Case = fn(&dyn ApproverFixture) -> Checked;

/// What the person says is the answer; where nobody says anything, nothing is allowed.
///
/// # Errors
/// A violation when it is another one, or there is one where nobody gave it.
pub fn what_the_person_says_is_the_answer(fixture: &dyn ApproverFixture) -> Checked {
    run(async {
        let mut people = Vec::new();
        for (call, answer) in (1..).zip(answers()) {
            people.push(settled(fixture, call, &answer).await?);
        }
        let same = people.iter().all(|person| Some(person) == people.first());
        ensure(same, || {
            format!("the fixture has a person for some answers and not for others: {people:?}")
        })
    })
}

/// A question whose signal has fired before it is asked ends, and is no allowance.
///
/// # Errors
/// A violation when it goes on, or allows.
pub fn a_question_that_is_cancelled_before_it_is_asked_ends(
    fixture: &dyn ApproverFixture,
) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        cancel.cancel();
        ended(ask(fixture, question(1, 1, &cancel)?).await?)
    })
}

/// A question that nobody needs the answer of any more ends soon, and is no allowance.
///
/// # Errors
/// A violation when it goes on, or allows.
pub fn a_question_that_is_cancelled_ends_soon(fixture: &dyn ApproverFixture) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        let asking = ask(fixture, question(1, 1, &cancel)?);
        let cancelling = async {
            tokio::task::yield_now().await;
            cancel.cancel();
        };
        let (asked, ()) = tokio::join!(asking, cancelling);
        ended(asked?)
    })
}

/// A question may be dropped; the next one is answered as ever.
///
/// # Errors
/// A violation when it is not.
pub fn a_dropped_question_leaves_the_approver_in_order(fixture: &dyn ApproverFixture) -> Checked {
    run(async {
        drop_one(fixture, 1).await?;
        let answer = ApprovalDecision::Allow { arguments: None };
        settled(fixture, 2, &answer).await.map(drop)
    })
}

/// The same question may be asked again, as a process that took over does.
///
/// # Errors
/// A violation when it is not answered then.
pub fn asking_again_is_harmless(fixture: &dyn ApproverFixture) -> Checked {
    run(async {
        drop_one(fixture, 1).await?;
        let answer = ApprovalDecision::Deny { reason: String::from("not now") };
        settled(fixture, 1, &answer).await.map(drop)
    })
}

fn answers() -> [ApprovalDecision; 3] {
    [
        ApprovalDecision::Allow { arguments: None },
        ApprovalDecision::Allow { arguments: Some(String::from(r#"{"n":2}"#)) },
        ApprovalDecision::Deny { reason: String::from("not now") },
    ]
}

/// Asks, and drops the question before anybody answers.
async fn drop_one(fixture: &dyn ApproverFixture, call: u64) -> Checked {
    let cancel = CancelSource::new();
    let approver = fixture.approver();
    tokio::select! {
        biased;
        asked = approver.ask(question(call, 1, &cancel)?) => ended(asked),
        () = ready(()) => Ok(()),
    }
}

/// Has the person answer a question and holds the approver to that; without a person, holds it to
/// not allowing what nobody has answered. Tells whether there is a person.
async fn settled(
    fixture: &dyn ApproverFixture,
    call: u64,
    answer: &ApprovalDecision,
) -> Result<bool, Violation> {
    let person = fixture.person(answer);
    if person {
        answered(fixture, call, answer).await?;
    } else {
        unanswered(fixture, call).await?;
    }
    Ok(person)
}

/// Holds an approver that nobody answers to allowing nothing: neither by itself nor when the
/// question is taken back.
async fn unanswered(fixture: &dyn ApproverFixture, call: u64) -> Checked {
    let cancel = CancelSource::new();
    let asking = ask(fixture, question(call, 2, &cancel)?);
    let cancelling = async {
        for _ in 0..LOOKS {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (asked, ()) = tokio::join!(asking, cancelling);
    ended(asked?)
}

/// Holds an approver to the answer that the person gave.
async fn answered(fixture: &dyn ApproverFixture, call: u64, answer: &ApprovalDecision) -> Checked {
    let cancel = CancelSource::new();
    let asked = ask(fixture, question(call, 2, &cancel)?).await?;
    let asked = asked.map_err(|error| Violation::new(format!("nobody could be asked: {error}")))?;
    ensure(asked.answer == *answer, || {
        format!("the person said {answer:?}, and the answer is {:?}", asked.answer)
    })
}

/// Holds a question that nobody answered to not being allowed.
fn ended(asked: Result<Approval, ApproverError>) -> Checked {
    match asked.map(|approval| approval.answer) {
        Err(_) | Ok(ApprovalDecision::Deny { .. }) => Ok(()),
        Ok(ApprovalDecision::Allow { .. } | ApprovalDecision::Grant { .. }) => {
            Err(Violation::new("it is allowed, and nobody said so"))
        }
    }
}

/// Asks, within the fixture's patience.
async fn ask(
    fixture: &dyn ApproverFixture,
    request: ApprovalRequest,
) -> Result<Result<Approval, ApproverError>, Violation> {
    let (approver, patience) = (fixture.approver(), fixture.patience());
    let asked = tokio::time::timeout(patience, approver.ask(request)).await;
    asked.map_err(|_| Violation::new(format!("the question did not end within {patience:?}")))
}

fn question(call: u64, attempt: u32, cancel: &CancelSource) -> Result<ApprovalRequest, Violation> {
    let session = SessionId::new("suite").map_err(|error| Violation::new(error.to_string()))?;
    let arguments = r#"{"n":1}"#;
    Ok(ApprovalRequest {
        scope: Arc::new(Scope::local("suite")),
        session,
        turn: TurnId(1),
        call: CallId(call),
        name: String::from("write"),
        arguments: arguments.into(),
        change: None,
        digest: ArgumentsDigest::Sha256(arguments_sha256(arguments)),
        reason: ApprovalReason::Permissions,
        earlier: None,
        offer: GrantOffer::Withheld { reason: String::from("nothing is remembered") },
        attempt,
        deadline: None,
        cancel: cancel.signal(),
    })
}

fn ensure(holds: bool, words: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(words())) }
}
