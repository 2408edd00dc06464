//! Scripts: answers of the model server as a pure function of a request.
//!
//! The model's name is the script. `tools-N` asks for the tool `echo` N times, once an answer,
//! and then says two words; `tools-N@oB` asks for results of B bytes; `text-T` says T words, one a
//! delta. A script keeps no state: how far a turn is stands in the request, as the results after
//! the last user message.

use anyhow::Context as _;
use bytes::Bytes;
use serde::Deserialize;

/// The most steps, words or bytes of a script.
const MOST: usize = 1_000_000;

/// Words that answers repeat, as JSON text: no two deltas in a row are the same bytes.
const WORDS: [&str; 12] = [
    " Every",
    " turn",
    " is",
    " a",
    " fold",
    " of",
    " its",
    " log",
    r",\n",
    " \u{e9}tats",
    r#" \"unis\""#,
    ".",
];

/// Text that the tool echoes.
pub(crate) const PAYLOAD: &str = "thirty-two bytes that come again";

/// Script that a model's name selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Script {
    /// So many calls, one an answer, then two words.
    Tools {
        /// Number of tool calls.
        steps: usize,
        /// Length of each result in bytes; 0 for the text of the call.
        bytes: usize,
    },
    /// Answer of this many words.
    Text(usize),
}

/// Answer to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    /// Call of this number, with the length of its result.
    Call(usize, usize),
    /// Answer of this many words.
    Words(usize),
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    model: std::borrow::Cow<'a, str>,
    messages: Vec<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: std::borrow::Cow<'a, str>,
}

impl Script {
    /// Reads a script's name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok().filter(|number| *number <= MOST);
        let (kind, count) = name.split_once('-')?;
        match (kind, count.split_once("@o")) {
            ("tools", None) => Some(Self::tools(number(count)?)),
            ("tools", Some((steps, bytes))) => {
                Some(Self::Tools { steps: number(steps)?, bytes: number(bytes)? })
            }
            ("text", None) => Some(Self::Text(number(count)?)),
            _ => None,
        }
    }

    /// So many calls, each for its text as it is.
    pub(crate) fn tools(steps: usize) -> Self {
        Self::Tools { steps, bytes: 0 }
    }

    /// The answer when `results` tool results follow the last user message.
    pub(crate) fn answer(self, results: usize) -> Answer {
        match self {
            Self::Tools { steps, bytes } if results < steps => Answer::Call(results, bytes),
            Self::Tools { .. } => Answer::Words(2),
            Self::Text(words) => Answer::Words(words),
        }
    }
}

/// Returns the answer that a request body of Chat Completions asks for.
///
/// # Errors
/// When it is no such body, or names no script.
pub(crate) fn asked(body: &[u8]) -> anyhow::Result<Answer> {
    let request: Request<'_> = serde_json::from_slice(body).context("reading the request")?;
    let script = Script::parse(&request.model)
        .with_context(|| format!("{:?} is no script: tools-N[@oB] or text-T", request.model))?;
    let since = request.messages.iter().rev().take_while(|message| message.role != "user");
    Ok(script.answer(since.filter(|message| message.role == "tool").count()))
}

/// The events of an answer, in the dialect of Chat Completions.
pub(crate) fn events(answer: Answer) -> Bytes {
    let mut events = String::new();
    event(&mut events, r#"{"role":"assistant","content":""}"#, None);
    let stop = match answer {
        Answer::Call(number, bytes) => {
            let head = format!(
                r#"{{"tool_calls":[{{"index":0,"id":"call_{number}","type":"function","function":{{"name":"echo","arguments":""}}}}]}}"#
            );
            event(&mut events, &head, None);
            let end = match bytes {
                0 => format!(r#"{PAYLOAD}\"}}"#),
                _ => format!(r#"{PAYLOAD}\",\"bytes\":{bytes}}}"#),
            };
            for piece in [r#"{\"text\":\""#.to_owned(), end] {
                let delta = format!(
                    r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{piece}"}}}}]}}"#
                );
                event(&mut events, &delta, None);
            }
            "tool_calls"
        }
        Answer::Words(words) => {
            for word in WORDS.iter().cycle().take(words) {
                event(&mut events, &format!(r#"{{"content":"{word}"}}"#), None);
            }
            "stop"
        }
    };
    event(&mut events, "{}", Some(stop));
    events.push_str(
        "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1,\
         \"model\":\"bench\",\"choices\":[],\"usage\":{\"prompt_tokens\":7,\
         \"completion_tokens\":3,\"total_tokens\":10}}\n\ndata: [DONE]\n\n",
    );
    events.into()
}

fn event(events: &mut String, delta: &str, stop: Option<&str>) {
    let stop = stop.map_or_else(|| "null".to_owned(), |stop| format!("\"{stop}\""));
    events.push_str(
        r#"data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":"#,
    );
    events.push_str(delta);
    events.push_str(r#","finish_reason":"#);
    events.push_str(&stop);
    events.push_str("}]}\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_script_or_refused() {
        assert_eq!(Script::parse("tools-3"), Some(Script::tools(3)));
        let (steps, bytes) = (5, 1024);
        let asked = Some(Script::Tools { steps, bytes });
        assert_eq!(Script::parse("tools-5@o1024"), asked);
        assert_eq!(Script::parse("text-10000"), Some(Script::Text(10_000)));
        for name in
            ["tools", "tools-", "tools--1", "text-1000001", "text-1@o1", "tools-1@o", "gpt-4"]
        {
            assert_eq!(Script::parse(name), None, "{name}");
        }
    }

    #[test]
    fn only_results_since_the_last_prompt_count() {
        let body = |model: &str| {
            format!(
                r#"{{"model":"{model}","messages":[{{"role":"user","content":"a"}},
                {{"role":"tool","content":"\"role\":\"tool\""}},{{"role":"user"}},
                {{"role":"assistant"}},{{"role":"tool"}}],"stream":true}}"#
            )
        };
        assert_eq!(asked(body("tools-3").as_bytes()).unwrap(), Answer::Call(1, 0));
        assert_eq!(asked(body("tools-1").as_bytes()).unwrap(), Answer::Words(2));
        assert_eq!(asked(body("text-9").as_bytes()).unwrap(), Answer::Words(9));
        let long = asked(body("tools-3@o9").as_bytes()).unwrap();
        assert_eq!(long, Answer::Call(1, 9));
        let error = asked(body("gpt").as_bytes()).unwrap_err();
        let words = "\"gpt\" is no script: tools-N[@oB] or text-T";
        assert_eq!(error.to_string(), words);
    }

    #[test]
    fn every_event_is_json_and_the_last_is_done() {
        for answer in [Answer::Call(4, 0), Answer::Call(4, 99), Answer::Words(30)] {
            let bytes = events(answer);
            let text = std::str::from_utf8(&bytes).unwrap();
            let mut data = Vec::new();
            for event in text.split_terminator("\n\n") {
                data.push(event.strip_prefix("data: ").unwrap());
            }
            assert_eq!(data.pop(), Some("[DONE]"));
            for event in data {
                serde_json::from_str::<serde_json::Value>(event).unwrap();
            }
        }
    }
}
