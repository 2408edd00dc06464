//! The conformance suite of the hooks port: one case for each promise in [`Hooks`]'s documentation;
//! [`hooks_suite!`](crate::hooks_suite) makes tests of them.
//!
//! What a hook leaves behind in the operating system is not here: looking for it needs that
//! adapter's own means, and it tests that beside the suite.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_core::{
    HookReply, HookVerdict, Mode, Permissions, Scope, SessionId, Timestamp, TurnId,
};
use windlass_ports::{
    CancelSource, HookCall, HookContext, HookError, HookErrorKind, Hooks, Redactor, TurnCalls,
};

use crate::store::{Checked, Violation, run_in_parallel as run};
use crate::suite::not_run;

/// How long a hook may take in the case about deadlines.
const TIMEOUT_MS: u64 = 200;
/// The deadline where a case is about something else.
const AMPLE_MS: u64 = 600_000;
/// The most bytes that a hook may say in the case about them.
const MAX_BYTES: u64 = 1_000;

/// Hooks under test, in a world of their own, and questions that show what they do.
///
/// Ordinary hooks need the first two methods. A case that needs another one which the fixture lacks is
/// not run, and is named on standard error.
pub trait HooksFixture: Send + Sync {
    /// The hooks.
    fn hooks(&self) -> Arc<dyn Hooks>;

    /// Questions that are answered soon, each by a hook that does not fail.
    fn questions(&self) -> Vec<HookCall>;

    /// A question to a hook that does not end by itself, if there is one.
    fn endless(&self) -> Option<HookCall> {
        None
    }

    /// A question to a hook that says more than a thousand bytes, if there is one.
    fn talkative(&self) -> Option<HookCall> {
        None
    }

    /// A text that is to be redacted, and a part of it that nobody may see; `None` where nothing is.
    fn secret(&self) -> Option<(String, String)> {
        None
    }

    /// How long a hook that has been told to stop, or is out of time, may take to end.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// Expands to one `#[test]` for each case of the hooks suite. The expression makes a fresh
/// [`HooksFixture`](crate::hooks::suite::HooksFixture) for each.
#[macro_export]
macro_rules! hooks_suite {
    ($fixture:expr) => {
        $crate::hooks_cases! { [$crate::suite_tests] hooks_suite, hooks::suite, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! hooks_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            hooks_are_well_formed,
            a_question_is_answered,
            an_unknown_hook_fails,
            a_hook_that_is_cancelled_before_it_starts_ends,
            a_running_hook_ends_soon_after_it_is_cancelled,
            a_running_hook_ends_at_its_deadline,
            a_dropped_question_leaves_the_hooks_in_order,
            what_a_hook_says_is_bounded,
            a_redactor_is_declared_by_its_name,
            what_is_redacted_does_not_depend_on_the_cut,
        }
    };
}

crate::hooks_cases! { [crate::suite::table] }

/// One case of the suite: holds hooks to one promise.
pub type Case = fn(&dyn HooksFixture) -> Checked;

/// Each hook has a name of its own and time to run, and they are the same each time.
///
/// # Errors
/// A violation when they are not.
pub fn hooks_are_well_formed(fixture: &dyn HooksFixture) -> Checked {
    let declared = fixture.hooks().hooks();
    ensure(!declared.is_empty(), || "there is no hook".into())?;
    let mut names = BTreeSet::new();
    for hook in &declared {
        let name = &hook.name;
        ensure(!name.is_empty(), || "a hook has no name".into())?;
        ensure(hook.timeout_ms > 0, || format!("{name} has no time to run"))?;
        ensure(names.insert(name.clone()), || format!("two hooks are called {name}"))?;
    }
    for question in fixture.questions() {
        ensure(names.contains(&question.hook), || format!("{} is not declared", question.hook))?;
    }
    ensure(fixture.hooks().hooks() == declared, || "another time they are others".into())
}

/// A hook answers.
///
/// # Errors
/// A violation when it fails.
pub fn a_question_is_answered(fixture: &dyn HooksFixture) -> Checked {
    run(async {
        for question in fixture.questions() {
            let context = context(&CancelSource::new(), AMPLE_MS)?;
            answered(fixture, question, context).await?;
        }
        Ok(())
    })
}

/// A hook that is not declared answers that it is unsupported.
///
/// # Errors
/// A violation when it has a verdict, or fails otherwise.
pub fn an_unknown_hook_fails(fixture: &dyn HooksFixture) -> Checked {
    run(async {
        let Some(mut question) = fixture.questions().into_iter().next() else {
            return Err(Violation::new("there is no question to begin with"));
        };
        question.hook = "no_hook_is_called_so".into();
        let context = context(&CancelSource::new(), AMPLE_MS)?;
        let what = "a hook that there is not";
        match ask(fixture, question, context).await? {
            Err(error) if error.kind == HookErrorKind::Unsupported => Ok(()),
            Err(error) => {
                Err(Violation::new(format!("{what} must answer Unsupported and failed: {error}")))
            }
            Ok(reply) => Err(Violation::new(format!("{what} says {:?}", reply.verdict))),
        }
    })
}

/// What rewrites answers has a name exactly where it is there: who opens a session with it would
/// not miss it otherwise.
///
/// # Errors
/// A violation when one is without the other.
pub fn a_redactor_is_declared_by_its_name(fixture: &dyn HooksFixture) -> Checked {
    let (named, there) = (fixture.hooks().redaction(), fixture.hooks().redactor());
    ensure(named.is_some() == there.is_some(), || {
        let there = if there.is_some() { "a" } else { "no" };
        format!("its name is {named:?}, and there is {there} redactor")
    })?;
    ensure(fixture.secret().is_some() == named.is_some(), || {
        format!("its name is {named:?}, which the fixture's secret says nothing of")
    })
}

/// A hook whose signal has fired before it starts ends, and has no verdict.
///
/// # Errors
/// A violation when it goes on, or has a verdict.
pub fn a_hook_that_is_cancelled_before_it_starts_ends(fixture: &dyn HooksFixture) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        cancel.cancel();
        for question in fixture.questions().into_iter().chain(fixture.endless()) {
            let ended = ask(fixture, question, context(&cancel, AMPLE_MS)?).await?;
            failed("a hook that was told to stop", ended)?;
        }
        Ok(())
    })
}

/// A running hook that is cancelled ends soon, without a verdict.
///
/// # Errors
/// A violation when it goes on, or has a verdict.
pub fn a_running_hook_ends_soon_after_it_is_cancelled(fixture: &dyn HooksFixture) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        let Some(question) = fixture.endless() else {
            return without(ENDLESS, "a_running_hook_ends_soon_after_it_is_cancelled");
        };
        let running = ask(fixture, question, context(&cancel, AMPLE_MS)?);
        let cancelling = async {
            tokio::task::yield_now().await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(running, cancelling);
        failed("a hook that was told to stop", ended?)
    })
}

/// A running hook ends at its deadline, without a verdict.
///
/// # Errors
/// A violation when it goes on, or has a verdict.
pub fn a_running_hook_ends_at_its_deadline(fixture: &dyn HooksFixture) -> Checked {
    run(async {
        let context = context(&CancelSource::new(), TIMEOUT_MS)?;
        let Some(question) = fixture.endless() else {
            return without(ENDLESS, "a_running_hook_ends_at_its_deadline");
        };
        let ended = ask(fixture, question, context).await?;
        failed("a hook that was out of time", ended)
    })
}

/// A question may be dropped; the next one is answered as ever.
///
/// # Errors
/// A violation when it is not.
pub fn a_dropped_question_leaves_the_hooks_in_order(fixture: &dyn HooksFixture) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        let hooks = fixture.hooks();
        let endless = fixture.endless();
        let stays = endless.is_some();
        let Some(dropped) = endless.or_else(|| fixture.questions().into_iter().next()) else {
            return Err(Violation::new("there is no question to begin with"));
        };
        let ended = tokio::select! {
            biased;
            _ = hooks.ask(dropped, context(&cancel, AMPLE_MS)?) => true,
            () = ready(()) => false,
        };
        ensure(!(stays && ended), || "the hook that does not end by itself ended at once".into())?;
        for question in fixture.questions().into_iter().take(1) {
            answered(fixture, question, context(&cancel, AMPLE_MS)?).await?;
        }
        Ok(())
    })
}

/// A hook that says more than it may fails, or says less.
///
/// # Errors
/// A violation when it says more.
pub fn what_a_hook_says_is_bounded(fixture: &dyn HooksFixture) -> Checked {
    run(async {
        let mut context = context(&CancelSource::new(), AMPLE_MS)?;
        context.max_bytes = MAX_BYTES;
        let Some(question) = fixture.talkative() else {
            return without("HooksFixture::talkative", "what_a_hook_says_is_bounded");
        };
        let Ok(reply) = ask(fixture, question, context).await? else {
            return Ok(());
        };
        let edit = reply.edit.as_ref().map_or(0, |edit| edit.text.len());
        let context = reply.context.as_ref().map_or(0, |text| text.len());
        let bytes = reply.reason.len() + edit + context;
        ensure(bytes as u64 <= MAX_BYTES, || {
            format!("it says {bytes} bytes, and {MAX_BYTES} are the most")
        })
    })
}

/// What is redacted is gone however the text was cut, all else comes out, and no answer's redactor
/// knows of another's.
///
/// # Errors
/// A violation when it is not so.
pub fn what_is_redacted_does_not_depend_on_the_cut(fixture: &dyn HooksFixture) -> Checked {
    let Some((text, secret)) = fixture.secret() else {
        return without("HooksFixture::secret", "what_is_redacted_does_not_depend_on_the_cut");
    };
    let hooks = fixture.hooks();
    let fresh = || {
        let words = "there is something to redact, and nothing that does";
        hooks.redactor().ok_or_else(|| Violation::new(words))
    };
    // Another answer that broke off in the middle of the secret.
    let half = secret.chars().take(secret.chars().count() / 2);
    fresh()?.push(0, &half.collect::<String>());
    let whole = fresh()?.redact(&text);
    ensure(!whole.contains(&secret), || format!("{secret:?} is still in {whole:?}"))?;
    for size in 1..=text.chars().count().max(1) {
        let streamed = stream(fresh()?.as_mut(), &text, size);
        ensure(streamed == whole, || {
            format!("in pieces of {size} it reads {streamed:?}, and whole {whole:?}")
        })?;
    }
    Ok(())
}

fn stream(redactor: &mut dyn Redactor, text: &str, size: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters.chunks(size).map(String::from_iter);
    let mut shown: String = pieces.map(|piece| redactor.push(1, &piece)).collect();
    shown.push_str(&redactor.end(1));
    shown
}

/// Method of [`HooksFixture`] that cases need.
const ENDLESS: &str = "HooksFixture::endless";

/// Names a case that was not run.
fn without(method: &str, case: &str) -> Checked {
    not_run("hooks_suite", case, method)
}

/// Asks a hook, within the fixture's patience.
async fn ask(
    fixture: &dyn HooksFixture,
    question: HookCall,
    context: HookContext,
) -> Result<Result<HookReply, HookError>, Violation> {
    let (name, patience) = (question.hook.clone(), fixture.patience());
    let hooks = fixture.hooks();
    let ended = tokio::time::timeout(patience, hooks.ask(question, context)).await;
    ended.map_err(|_| Violation::new(format!("{name} did not end within {patience:?}")))
}

/// Asks a hook that is to have a verdict.
async fn answered(
    fixture: &dyn HooksFixture,
    question: HookCall,
    context: HookContext,
) -> Result<HookReply, Violation> {
    let name = question.hook.clone();
    let reply = ask(fixture, question, context).await?;
    let reply = reply.map_err(|error| Violation::new(format!("{name} failed: {error}")))?;
    ensure(has_verdict(&reply), || format!("{name} has no verdict: {}", reply.reason))?;
    Ok(reply)
}

/// Holds a hook to having no verdict.
fn failed(what: &str, ended: Result<HookReply, HookError>) -> Checked {
    match ended {
        Ok(reply) if has_verdict(&reply) => {
            let verdict = reply.verdict;
            Err(Violation::new(format!("{what} says {verdict:?}")))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn has_verdict(reply: &HookReply) -> bool {
    match reply.verdict {
        HookVerdict::Pass
        | HookVerdict::Allow
        | HookVerdict::Ask
        | HookVerdict::Deny
        | HookVerdict::Halt => true,
        HookVerdict::Failed | HookVerdict::Overrun => false,
    }
}

fn context(cancel: &CancelSource, timeout_ms: u64) -> Result<HookContext, Violation> {
    let session = SessionId::new("suite").map_err(|error| Violation::new(error.to_string()))?;
    Ok(HookContext {
        scope: Arc::new(Scope::local("suite")),
        session,
        turn: Some(TurnId(1)),
        workspace: None,
        mode: Mode::Build,
        permissions: Permissions::Auto,
        model: String::from("suite"),
        goal: None,
        calls: TurnCalls::default(),
        cancel: cancel.signal(),
        deadline: now().plus_ms(timeout_ms),
        timeout_ms,
        max_bytes: 65_536,
    })
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn ensure(holds: bool, words: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(words())) }
}
