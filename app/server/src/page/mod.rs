//! Page: static files that are embedded in the program. Nothing is generated at run time or fetched
//! from elsewhere.

use std::sync::Arc;

use axum::Router;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

use crate::access::hex;
use crate::app::App;

/// File of the page.
#[derive(Debug, Clone, Copy)]
struct PageFile {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal $kind:ident $file:literal,)*) => {
        &[$(PageFile { path: $path, kind: $kind, text: include_str!($file) },)*]
    };
}

const FILES: &[PageFile] = files! {
    "/" HTML "index.html",
    "/page/api.js" SCRIPT "api.js",
    "/page/call.js" SCRIPT "call.js",
    "/page/composer.js" SCRIPT "composer.js",
    "/page/conversation.js" SCRIPT "conversation.js",
    "/page/dialogs.js" SCRIPT "dialogs.js",
    "/page/dom.js" SCRIPT "dom.js",
    "/page/facts.js" SCRIPT "facts.js",
    "/page/fold.js" SCRIPT "fold.js",
    "/page/format.js" SCRIPT "format.js",
    "/page/icon.svg" SVG "icon.svg",
    "/page/interaction.js" SCRIPT "interaction.js",
    "/page/json.js" SCRIPT "json.js",
    "/page/keys.js" SCRIPT "keys.js",
    "/page/log_view.js" SCRIPT "log_view.js",
    "/page/main.js" SCRIPT "main.js",
    "/page/markdown.js" SCRIPT "markdown.js",
    "/page/meters.js" SCRIPT "meters.js",
    "/page/parts.css" CSS "parts.css",
    "/page/sessions.js" SCRIPT "sessions.js",
    "/page/stream.js" SCRIPT "stream.js",
    "/page/style.css" CSS "style.css",
    "/page/theme.js" SCRIPT "theme.js",
    "/page/timeline.js" SCRIPT "timeline.js",
    "/page/timeline_view.js" SCRIPT "timeline_view.js",
    "/page/token.js" SCRIPT "token.js",
    "/page/visible.js" SCRIPT "visible.js",
};

/// Content security policy of the page. It runs only its own scripts and calls only its own server,
/// so no text can become markup or script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of every file beside its own.
const HEADERS: &[(&str, &str)] = &[
    ("cache-control", "no-cache"),
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// Returns the routes of the page. They need no token, since the files are public.
pub(crate) fn routes() -> Router<Arc<App>> {
    FILES.iter().fold(Router::new(), |router, file| {
        let tag = tag(file.text);
        let answer = move |headers: HeaderMap| async move { respond(file, tag, &headers) };
        router.route(file.path, get(answer))
    })
}

/// Returns the file, or "not modified" if the client has it.
fn respond(file: &PageFile, tag: EntityTag, asked: &HeaderMap) -> Response {
    let tag = tag.header();
    let known = asked.get(IF_NONE_MATCH).and_then(|has| has.to_str().ok());
    let same = known.is_some_and(|has| {
        let tags = has.split(',').map(|one| one.trim().trim_start_matches("W/"));
        tags.into_iter().any(|one| one == "*" || one.as_bytes() == tag.as_bytes())
    });
    let mut response = match same {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => file.text.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
    headers.insert(ETAG, tag);
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Entity tag of a file.
#[derive(Debug, Clone, Copy)]
struct EntityTag([u8; 16]);

fn tag(text: &str) -> EntityTag {
    let mut tag = [0; 16];
    for (to, from) in tag.iter_mut().zip(Sha256::digest(text)) {
        *to = from;
    }
    EntityTag(tag)
}

impl EntityTag {
    fn header(self) -> HeaderValue {
        let text = format!("\"{}\"", hex(&self.0));
        // Digits and letters always form a valid header.
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("\"\""))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_served_and_nothing_else() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let there: BTreeSet<String> = names.filter(|name| name != "mod.rs").collect();
        let name = |file: &PageFile| file.path.trim_start_matches("/page/").to_owned();
        let mut served: BTreeSet<String> = FILES.iter().map(name).collect();
        assert!(served.remove("/") && served.insert("index.html".into()));
        assert_eq!(served, there);
    }

    #[test]
    fn no_file_holds_what_the_policy_forbids() {
        for file in FILES {
            for mark in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!file.text.contains(mark), "{} has {mark}", file.path);
            }
            let foreign = file.text.matches("://").count();
            let allowed = file.text.matches("http://www.w3.org/2000/svg").count()
                + file.text.matches("https?:\\/\\/").count();
            assert!(foreign <= allowed, "{} names a place elsewhere", file.path);
            assert!(file.text.len() > 100, "{} is cut off", file.path);
        }
        assert!(!FILES[0].text.contains("<style") && !FILES[0].text.contains(" onclick"));
    }

    #[test]
    fn a_file_that_the_client_has_is_not_sent_again() {
        let file = &FILES[0];
        let first = respond(file, tag(file.text), &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let has = first.headers()[ETAG].clone();
        for (asked, status) in [
            (has.clone(), StatusCode::NOT_MODIFIED),
            (HeaderValue::from_static("\"x\""), StatusCode::OK),
            (HeaderValue::from_static("*"), StatusCode::NOT_MODIFIED),
        ] {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, asked)]);
            let again = respond(file, tag(file.text), &headers);
            assert_eq!(again.status(), status);
            assert_eq!(again.headers()[ETAG], has);
            assert!(
                again.headers()["content-security-policy"]
                    .to_str()
                    .unwrap()
                    .starts_with("default-src 'none'")
            );
        }
        assert_ne!(tag("a").0, tag("b").0);
    }
}
