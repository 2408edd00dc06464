//! Requests held against those of an undisturbed run.

use serde_json::Value;

/// What differs, in words.
///
/// Each request must be one of the undisturbed run's, byte for byte in its parts; none is skipped,
/// and the last is reached. Only where a call ended otherwise than well, with one of `ends` as its
/// output, may a result differ, and what comes after it.
pub(super) fn differences(seen: &[Value], undisturbed: &[Value], ends: &[&str]) -> Vec<String> {
    let Some(longest) = undisturbed.last() else {
        return match seen.len() {
            0 => Vec::new(),
            more => vec![format!("{more} requests where none is undisturbed")],
        };
    };
    let mut differences = Vec::new();
    let (mut reached, mut another_way) = (0, false);
    for (number, request) in seen.iter().enumerate() {
        if around(request) != around(longest) {
            differences.push(format!("request {number} differs in something else than its items"));
            continue;
        }
        match place(items(request), items(longest), ends) {
            Place::Same(len) => {
                let place = undisturbed.iter().position(|one| items(one).len() == len);
                match place {
                    None => differences.push(format!(
                        "request {number} ends after {len} items, where no undisturbed one does"
                    )),
                    Some(place) if place > reached => {
                        differences.push(format!("request {number} skips request {reached}"));
                    }
                    Some(place) => reached = reached.max(place + 1),
                }
            }
            Place::AnotherWay => another_way = true,
            Place::Differs(at) => {
                let (is, was) = (items(request).get(at), items(longest).get(at));
                let text = |item: Option<&Value>| item.map(Value::to_string).unwrap_or_default();
                differences.push(format!(
                    "request {number} differs at item {at}: {} where undisturbed is {}",
                    text(is),
                    text(was)
                ));
            }
        }
    }
    if !another_way && reached < undisturbed.len() {
        differences.push(format!("request {reached} was never made"));
    }
    differences
}

/// Where a request stands on the way of the undisturbed run.
enum Place {
    /// On it, with so many items.
    Same(usize),
    /// Off it, since a call ended otherwise.
    AnotherWay,
    /// Off it at this item, for no reason that is known.
    Differs(usize),
}

fn place(items: &[Value], way: &[Value], ends: &[&str]) -> Place {
    let mut pairs = items.iter().zip(way);
    let Some(at) = pairs.position(|(is, was)| is != was) else {
        return match items.len() {
            len if len > way.len() => Place::Differs(way.len()),
            len => Place::Same(len),
        };
    };
    let (is, was) = (items.get(at), way.get(at));
    match (is.and_then(result), was.and_then(result)) {
        (Some((call, output)), Some((same, _)))
            if call == same && ends.iter().any(|end| is_told(output, end)) =>
        {
            Place::AnotherWay
        }
        _ => Place::Differs(at),
    }
}

/// Returns true if an output tells how a call ended. An empty text tells nothing.
fn is_told(output: &str, end: &str) -> bool {
    !end.is_empty() && output.contains(end)
}

/// The call and the output of an item that is the result of a call, in either dialect.
fn result(item: &Value) -> Option<(&str, &str)> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    match (text("role"), text("type")) {
        (Some("tool"), _) => Some((text("tool_call_id")?, text("content")?)),
        (_, Some("function_call_output")) => Some((text("call_id")?, text("output")?)),
        _ => None,
    }
}

/// The conversation in a request.
fn items(request: &Value) -> &[Value] {
    let items = request.get("messages").or_else(|| request.get("input"));
    items.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Parts around the conversation in a request.
fn around(request: &Value) -> Value {
    let mut rest = request.clone();
    if let Some(rest) = rest.as_object_mut() {
        rest.remove("messages");
        rest.remove("input");
    }
    rest
}
