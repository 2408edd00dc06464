//! Cases about refusals: each has its class, says whether to ask again and when, and shows nobody
//! the key.

use std::error::Error;

use serde_json::json;
use windlass_core::{FailureKind, Retry};
use windlass_ports::ProviderError;

use super::ProviderFixture;
use super::talk::{KEY, Talk, classed, endpoint, hello, serve};
use crate::answer::Answer;
use crate::http::{Cut, Framing, Refusal, Reply, Request, Script};
use crate::port::Port;
use crate::store::{Checked, Violation, ensure, run};

/// A refusal's class follows from its status, whatever its body is.
///
/// # Errors
/// A violation when it does not, or a refusal passes for an answer.
pub fn a_refusal_has_its_class(fixture: &dyn ProviderFixture) -> Checked {
    use FailureKind as Kind;
    let statuses = [
        (400, &[Kind::InvalidRequest][..], false),
        (401, &[Kind::Authentication], false),
        (403, &[Kind::Authentication], false),
        (404, &[Kind::NotFound], false),
        (413, &[Kind::ContextOverflow], false),
        (422, &[Kind::InvalidRequest], false),
        (429, &[Kind::RateLimit], true),
        (500, &[Kind::Server], true),
        (502, &[Kind::Server, Kind::Unavailable], true),
        (503, &[Kind::Overloaded], true),
        (529, &[Kind::Overloaded], true),
    ];
    let whole = fixture.protocol().events(&Answer::new().text("Hello."));
    let bodies = [
        String::new(),
        String::from("no"),
        json!({ "error": { "message": "no" } }).to_string(),
        String::from("<html><head><title>no</title></head></html>"),
        String::from("{\"error\":"),
        String::from("\u{0}\u{1b}[31m\n\n\u{202e}"),
        whole.concat(),
    ];
    run(async {
        for (status, kinds, again) in statuses {
            for body in &bodies {
                for framing in [Framing::Chunked, Framing::Length, Framing::Close] {
                    let reply = Reply::raw(status, body.as_str()).framed(framing);
                    let what = format!("the status {status} with {body:?}");
                    let error = Talk::new(fixture, reply)?.fails(&what).await?;
                    classed(&error, kinds, again, &what)?;
                    ensure!(
                        error.details.status == Some(status),
                        "{what} has the status {:?}",
                        error.details.status
                    );
                    let escaped = !error.context.contains(['\u{1b}', '\u{202e}', '\u{0}']);
                    ensure!(escaped, "{what} is passed on as it came: {:?}", error.context);
                }
            }
        }
        Ok(())
    })
}

/// Where a status means several things, the server's own code tells which.
///
/// # Errors
/// A violation when it does not.
pub fn a_refusal_is_told_from_its_words(fixture: &dyn ProviderFixture) -> Checked {
    use FailureKind as Kind;
    let protocol = fixture.protocol();
    let kinds = [
        (Kind::ContextOverflow, false),
        (Kind::NotFound, false),
        (Kind::Quota, false),
        (Kind::RateLimit, true),
        (Kind::Overloaded, true),
        (Kind::Authentication, false),
        (Kind::ContentFilter, false),
    ];
    run(async {
        for (kind, again) in kinds {
            for Refusal { status, body } in protocol.refusals(kind, "the suite says no") {
                let what = format!("the status {status} with {body}");
                let mut reply = Reply::raw(status, body).header("content-type", "application/json");
                if let Some(name) = protocol.request_id_header() {
                    reply = reply.header(name, "req_7");
                }
                let error = Talk::new(fixture, reply)?.fails(&what).await?;
                classed(&error, &[kind], again, &what)?;
                ensure!(
                    error.context.contains("the suite says no"),
                    "{what} does not pass on what the server says: {error}"
                );
                let id = error.details.request_id.as_deref();
                let given = protocol.request_id_header().map(|_| "req_7");
                ensure!(id == given, "{what} keeps the request id {id:?}");
            }
        }
        Ok(())
    })
}

/// A wait that the server asks for, in seconds or until a date, is told in milliseconds.
///
/// # Errors
/// A violation when it is not, or nonsense is taken for one.
pub fn a_wait_that_is_asked_for_is_told(fixture: &dyn ProviderFixture) -> Checked {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let later = "Sun, 06 Nov 1994 08:50:07 GMT";
    let cases = [
        ("7", Retry::AfterMs(7_000)),
        (later, Retry::AfterMs(30_000)),
        ("soon", Retry::Soon),
        ("-7", Retry::Soon),
    ];
    run(async {
        for status in [429, 503] {
            for (asked, retry) in cases {
                let reply = Reply::raw(status, "").header("date", date);
                let reply = reply.header("retry-after", asked);
                let what = format!("a {status} that asks to wait {asked:?}");
                let error = Talk::new(fixture, reply)?.fails(&what).await?;
                ensure!(
                    error.retry == retry,
                    "{what} is told as {:?} and not as {retry:?}",
                    error.retry
                );
            }
        }
        Ok(())
    })
}

/// A redirect is not followed: what is asked, and the key, go nowhere else.
///
/// # Errors
/// A violation when it is followed, or passes for an answer.
pub fn a_redirect_is_not_followed(fixture: &dyn ProviderFixture) -> Checked {
    run(async {
        let elsewhere = Script::respond(|_| Reply::say("from elsewhere"));
        let elsewhere = serve(elsewhere.speaking(fixture.protocol()))?;
        let addr = elsewhere.addr();
        for status in [301, 302, 303, 307, 308] {
            let what = format!("a redirect with {status}");
            let redirect = move |request: &Request| {
                Reply::redirect(status, &format!("http://{addr}{}", request.path))
            };
            let talk = Talk::new(fixture, Script::respond(redirect))?;
            let error = talk.fails(&what).await?;
            classed(&error, &[FailureKind::Protocol], false, &what)?;
            talk.was_asked(1, &what)?;
            let visits = elsewhere.requests().len();
            ensure!(visits == 0, "{what} was followed");
        }
        Ok(())
    })
}

/// A server that is not there is an error at once, and worth another try.
///
/// # Errors
/// A violation when it is not.
pub fn nobody_there_is_unavailable(fixture: &dyn ProviderFixture) -> Checked {
    let port = Port::take().map_err(|error| Violation::new(error.to_string()))?;
    run(async {
        let base_url = format!("http://127.0.0.1:{}/v1", port.number());
        let provider = fixture.provider(&endpoint(base_url));
        let what = "a server that is not there";
        match provider.sample(hello()?).await {
            Ok(_) => Err(Violation::new(format!("{what} answers"))),
            Err(error) => {
                classed(&error, &[FailureKind::Unavailable], true, what)?;
                silent(&error, what)
            }
        }
    })
}

/// One sample is one request, whatever becomes of it: the engine alone decides to ask again.
///
/// # Errors
/// A violation when a request is sent again.
pub fn one_request_is_sent_for_one_sample(fixture: &dyn ProviderFixture) -> Checked {
    let at_once = |status| Reply::raw(status, "").header("retry-after", "0");
    let replies = [
        Reply::say("Hello."),
        at_once(429),
        at_once(503),
        Reply::raw(500, ""),
        Reply::raw(408, ""),
        Reply::raw(401, ""),
        Reply::say("Hello.").cut_after(0, Cut::Rst),
        Reply::say("Hello.").cut_after(0, Cut::Fin),
        Reply::say("Hello.").cut_after(100, Cut::Rst),
        Reply::say("Hello.").omit_last(3),
    ];
    run(async {
        for reply in replies {
            let what = format!("a sample answered by {reply:?}");
            let replying = move |_: &_| reply.clone();
            let talk = Talk::new(fixture, Script::respond(replying))?;
            for asked in 1..3 {
                drop(talk.ask().await?);
                talk.was_asked(asked, &what)?;
            }
        }
        Ok(())
    })
}

/// The key is in the headers of a request, and nowhere else: not in its address, not in an error,
/// though the server repeats it in each of its words.
///
/// # Errors
/// A violation when it is shown.
pub fn the_key_is_shown_to_the_server_alone(fixture: &dyn ProviderFixture) -> Checked {
    let words = format!("the key {KEY} is no good");
    // The code of the failure repeats the key, too.
    let inside = fixture.protocol().failure_event(FailureKind::Server, &words);
    let inside = inside.unwrap_or_default().replace("server_error", KEY);
    let page = format!("<html><title>{words}</title></html>");
    let replies = [
        Reply::error(401, "invalid_api_key", &words),
        Reply::error(400, KEY, &words),
        Reply::raw(500, words.as_str()).header("x-request-id", KEY),
        Reply::raw(403, page.as_str()),
        Reply::raw(200, page.as_str()).header("content-type", "text/html"),
        Reply::redirect(307, &format!("http://127.0.0.1:9/{KEY}?key={KEY}")),
        Reply::stream(inside),
        Reply::stream(format!("data: {{{KEY}}}\n\n")),
        Reply::say(KEY).cut_after(200, Cut::Fin),
    ];
    run(async {
        for reply in replies {
            let what = format!("the error of {reply:?}");
            let talk = Talk::new(fixture, reply)?;
            silent(&talk.fails(&what).await?, &what)?;
            for request in talk.server.requests() {
                ensure!(!request.path.contains(KEY), "the key is in {}", request.path);
                let body = String::from_utf8_lossy(&request.body);
                ensure!(!body.contains(KEY), "the key is in the body of a request");
                let shown = request.headers.iter().any(|(_, value)| value.contains(KEY));
                ensure!(shown, "the key is in no header of a request");
            }
        }
        Ok(())
    })
}

/// Holds an error, and all its causes, to not showing the key.
fn silent(error: &ProviderError, what: &str) -> Checked {
    let mut shown = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(deeper) = cause {
        shown.push_str(&format!(" {deeper} {deeper:?}"));
        cause = deeper.source();
    }
    ensure!(!shown.contains(KEY), "{what} shows the key: {shown}");
    Ok(())
}
