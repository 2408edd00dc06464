//! Recorded provider bodies, for the decoders of each protocol: the cases, what a consumer makes of
//! their events, and how that differs from what the collection says of them.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, FailureKind, Item, StopReason, StreamEvent, Usage,
};
use windlass_kit_http::ErrorContext;
use windlass_ports::WireHeaders;

pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) row: Value,
    pub(crate) bytes: Vec<u8>,
}

/// The folder of the collection, or `None` where there is none. One that is named must be there.
fn folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("WINDLASS_WIRE_CORPUS") {
        return Some(PathBuf::from(named));
    }
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    beside.join("index.jsonl").is_file().then_some(beside)
}

/// The cases of a kind of these protocols, or `None` where the collection is absent.
pub(crate) fn cases(kind: &str, apis: &[&str]) -> Option<Vec<Case>> {
    let Some(folder) = folder() else {
        eprintln!(
            "SKIPPED: no collection of wire bodies; WINDLASS_WIRE_CORPUS names its folder, and \
             none is at shared/wire beside the checkout"
        );
        return None;
    };
    let index = folder.join("index.jsonl");
    let index = std::fs::read_to_string(&index)
        .unwrap_or_else(|error| panic!("{}: {error}", index.display()));
    let rows = index.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let wanted = |row: &Value| row["kind"] == kind && apis.iter().any(|api| row["api"] == *api);
    let case = |row: Value| Case {
        id: row["id"].as_str().unwrap().to_owned(),
        bytes: std::fs::read(folder.join(row["file"].as_str().unwrap())).unwrap(),
        row,
    };
    let cases: Vec<Case> = rows.filter(wanted).map(case).collect();
    assert!(!cases.is_empty(), "the collection holds no {kind} of ours");
    Some(cases)
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) refusal: String,
    /// Text that streamed but belongs to no whole item.
    pub(crate) partial: String,
    /// What goes back unchanged.
    pub(crate) opaque: Vec<String>,
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) ended: Option<(StopReason, Option<Usage>)>,
    pub(crate) error: Option<FailureKind>,
}

/// What a consumer makes of these events, and of the error after them.
pub(crate) fn assembled(events: Vec<StreamEvent>, error: Option<FailureKind>) -> Decoded {
    let mut assembler = Assembler::new(AssemblerLimits::default());
    let mut out = Vec::new();
    for event in events {
        assembler.push(event, &mut out).unwrap();
    }
    let mut decoded = Decoded { error, partial: assembler.partial_text(), ..Decoded::default() };
    for assembled in out {
        match assembled {
            AssemblerOutput::Delta(_) => {}
            AssemblerOutput::Item(Item::Text { text, .. }) => decoded.text.push_str(&text),
            AssemblerOutput::Item(Item::Refusal { text }) => decoded.refusal.push_str(&text),
            AssemblerOutput::Item(Item::Reasoning(item)) => {
                decoded.reasoning.push_str(&item.text);
                let payload = item.opaque.as_ref().map(|opaque| opaque.payload.clone());
                decoded.opaque.extend(payload);
            }
            AssemblerOutput::Item(Item::Call(call)) => decoded.calls.push((
                call.provider_id.clone(),
                call.name.clone(),
                call.arguments.clone(),
            )),
            AssemblerOutput::Ended { stop, usage, .. } => decoded.ended = Some((stop, usage)),
        }
    }
    assert!(decoded.error.is_none() || decoded.ended.is_none(), "both ended and failed");
    decoded
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

pub(crate) fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn json_or_text(text: &str) -> Value {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

pub(crate) fn calls_differ(expect: &Value, got: &Decoded, reason: &StopReason) -> Option<String> {
    let cut = *reason != StopReason::Stop;
    let mut wanted = Vec::new();
    for call in expect["tool_calls"].as_array().unwrap() {
        // Of an answer that was cut off, a call whose arguments are not whole is not given out.
        let arguments = text(call, "arguments");
        if cut && serde_json::from_str::<Value>(arguments).is_err() {
            continue;
        }
        wanted.push((text(call, "id"), text(call, "name"), json_or_text(arguments)));
    }
    let calls = got.calls.iter();
    let calls: Vec<_> =
        calls.map(|(id, name, text)| (id.as_str(), name.as_str(), json_or_text(text))).collect();
    (calls != wanted).then(|| format!("calls {calls:?}, not {wanted:?}"))
}

/// Compares the numbers of these names.
pub(crate) fn usage_differs(
    expect: &Value,
    got: Option<[Option<u64>; 5]>,
    names: [&str; 5],
) -> Option<String> {
    let wanted = &expect["usage"];
    let wanted = (!wanted.is_null()).then(|| names.map(|name| wanted[name].as_u64()));
    (got != wanted).then(|| format!("usage {got:?}, not {wanted:?}"))
}

/// Does something with each case, on as many threads as there are processors; what it finds wrong
/// fails the test.
pub(crate) fn each(cases: &[Case], check: impl Fn(&Case) -> Result<(), String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(what) = check(case) {
                        wrong.lock().unwrap().push(format!("{}: {what}", case.id));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let (some, all) = (wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{some} of {all} wrong:\n{}", wrong.join("\n"));
}

/// Holds the classes of refused requests against their meanings.
pub(crate) fn refusals_are_classed(cases: &[Case]) {
    each(cases, |case| {
        let status = u16::try_from(case.row["http_status"].as_u64().unwrap()).unwrap();
        let headers = WireHeaders::default();
        let origin =
            ErrorContext::new("http://host/v1", Vec::new(), true).answered(status, &headers);
        let error = origin.refused(&headers, &case.bytes);
        let wanted = match text(&case.row["expect"], "meaning") {
            "auth" => FailureKind::Authentication,
            "not_found" => FailureKind::NotFound,
            "context_overflow" => FailureKind::ContextOverflow,
            "invalid_request" => FailureKind::InvalidRequest,
            "rate_limit" => FailureKind::RateLimit,
            "quota" => FailureKind::Quota,
            "overloaded" => FailureKind::Overloaded,
            "server" => FailureKind::Server,
            other => panic!("{}: unknown meaning {other}", case.id),
        };
        let message = text(&case.row["expect"]["error"], "message");
        let head: String = message.chars().take(100).collect();
        let right = error.kind == wanted
            && error.context.contains(&head)
            && error.details.status == Some(status);
        let (kind, context) = (error.kind, error.context);
        right.then_some(()).ok_or(format!("{kind:?}, not {wanted:?}: {context}"))
    });
}
