//! An answer before it is put into a dialect.

use crate::request::ParsedRequest;
use crate::script::ModelAction;

/// Name of the only model.
pub(crate) const MODEL: &str = "demo-script";

/// Words that one event carries.
const WORDS: usize = 4;

/// An answer, with what the wire wants to know besides.
pub(crate) struct ModelAnswer {
    /// The part of the ids that is its own; the same request gives the same.
    pub(crate) id: String,
    /// Text or calls of the answer.
    pub(crate) content: AnswerContent,
    /// True if there is a pause between the events of its stream.
    pub(crate) paced: bool,
    /// Tokens of the request, estimated.
    pub(crate) input_tokens: usize,
    /// Tokens of the answer, estimated.
    pub(crate) output_tokens: usize,
    /// True if a Chat stream is to end with these.
    pub(crate) include_usage: bool,
}

/// Text or calls of an answer.
pub(crate) enum AnswerContent {
    /// Text for the user.
    Text(String),
    /// Calls of tools.
    Calls(Vec<AnswerCall>),
}

/// Call of a tool.
pub(crate) struct AnswerCall {
    /// Its id, unique in the conversation.
    pub(crate) id: String,
    /// Name of the tool.
    pub(crate) name: String,
    /// Arguments as JSON text.
    pub(crate) arguments: String,
}

impl ModelAnswer {
    /// The answer that makes this move.
    pub(crate) fn new(asked: &ParsedRequest, next: ModelAction, body: &[u8]) -> Self {
        let slowly = matches!(next, ModelAction::AnswerSlowly(_));
        let (content, bytes) = match next {
            ModelAction::Answer(text) | ModelAction::AnswerSlowly(text) => {
                let bytes = text.len();
                (AnswerContent::Text(text), bytes)
            }
            ModelAction::Call { tool, arguments } => {
                let bytes = arguments.iter().map(|text| text.len() + tool.len()).sum();
                let call = |(number, arguments)| AnswerCall {
                    id: format!("call_{}", asked.calls + number),
                    name: tool.clone(),
                    arguments,
                };
                (AnswerContent::Calls((1..).zip(arguments).map(call).collect()), bytes)
            }
        };
        Self {
            id: format!("demo-{:016x}", fingerprint(body)),
            content,
            paced: slowly,
            input_tokens: body.len().div_ceil(4),
            output_tokens: bytes.div_ceil(4),
            include_usage: asked.include_usage,
        }
    }
}

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>): it names a response, it
/// protects nothing.
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A text in pieces of a few words; together they are the text.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let mut pieces = Vec::with_capacity(words.len().div_ceil(WORDS));
    let mut rest = text;
    for group in words.chunks(WORDS) {
        let (piece, tail) = rest.split_at(group.iter().map(|word| word.len()).sum());
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        for text in ["", "one", "a b c d e", "  über\n\n die  Brücke \u{a0}x y z ", "\n"] {
            assert_eq!(pieces(text).concat(), text);
        }
        assert_eq!(pieces("a b c d e"), ["a b c d ", "e"]);
    }
}
