//! The shape of a snapshot, for the description; a test holds it to what the core writes.

#![expect(dead_code, reason = "they are read by the description alone")]

use utoipa::ToSchema;

use super::shapes::UsageShape;

/// What one cycle of a turn came to: a model call, with all its attempts, and the calls that came of it.
#[derive(ToSchema)]
#[schema(as = TurnSnapshot)]
pub(crate) struct SnapshotShape {
    /// The turn.
    turn: u64,
    /// Which cycle of the turn, from 1.
    number: u32,
    /// What the model was asked for: work, the last of its work, or an answer that fits the contract.
    kind: SampleKindShape,
    /// How often the model was asked.
    attempts: u32,
    /// When it was first asked, in milliseconds since 1970.
    started: u64,
    /// When it was over.
    ended: u64,
    /// The text of the answer, as far as it came, and after it the source of a program that came by a
    /// native call.
    raw_response: String,
    /// The source of the program that the answer has.
    #[schema(required = false)]
    program: String,
    /// The call that the program is.
    #[schema(required = false)]
    program_call: u64,
    /// How the program ended, where it was run to an end.
    #[schema(required = false)]
    result: ProgramEndShape,
    /// What the program printed, line by line.
    prints: Vec<String>,
    /// What was put right in the program's source.
    #[schema(required = false)]
    repairs: Vec<String>,
    /// Each call that the model or its program made, in the order in which they were made.
    tool_calls: Vec<CycleCallShape>,
    /// What lasts for the programs to come, as their runtime writes it.
    #[schema(required = false)]
    memory: String,
    /// The conversation that the model was shown.
    messages: MessagesShape,
    /// Tokens of all attempts, as far as the provider said.
    #[schema(required = false)]
    usage: UsageShape,
    /// Whether the cycle did what it was to do.
    success: bool,
    /// Why it did not.
    #[schema(required = false)]
    failure: ProgramFaultShape,
}

/// What a model call is for.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = SampleKind)]
pub(crate) enum SampleKindShape {
    /// Work.
    Normal,
    /// The last one for work: its program cannot call tools.
    MustReturn,
    /// An answer that fits the contract, after one that did not.
    Retry,
}

/// How a program ended.
#[derive(ToSchema)]
#[schema(as = ProgramEnd)]
pub(crate) struct ProgramEndShape {
    /// In a word.
    end: ProgramEndName,
    /// Of one that did not end with a fault: JSON text.
    #[schema(required = false)]
    value: String,
    /// Of a fault: its class.
    #[schema(required = false)]
    class: String,
    /// Of a fault: what went wrong.
    #[schema(required = false)]
    message: String,
    /// Of a fault: the line, from 1.
    #[schema(required = false)]
    line: u32,
    /// Of a fault: the character in the line, from 1.
    #[schema(required = false)]
    column: u32,
    /// Of a fault: what to do about it.
    #[schema(required = false)]
    hint: String,
}

/// How a program ended, in a word.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum ProgramEndName {
    Value,
    Return,
    Fail,
    Fault,
}

/// Why something did not do what it was to do.
#[derive(ToSchema)]
#[schema(as = ProgramFault)]
pub(crate) struct ProgramFaultShape {
    /// The class, for example `parse_error`.
    class: String,
    /// What went wrong.
    message: String,
    /// The line, from 1.
    #[schema(required = false)]
    line: u32,
    /// The character in the line, from 1.
    #[schema(required = false)]
    column: u32,
    /// What to do about it.
    #[schema(required = false)]
    hint: String,
}

/// A call of a cycle.
#[derive(ToSchema)]
#[schema(as = CycleCall)]
pub(crate) struct CycleCallShape {
    /// The call.
    id: u64,
    /// The program that made it.
    #[schema(required = false)]
    program: u64,
    /// The tool.
    name: String,
    /// The arguments that were asked for: JSON text.
    arguments: String,
    /// Those that it ran with, where somebody changed them.
    #[schema(required = false)]
    edited: String,
    /// How it ended; null where the answer that it stood in was thrown away.
    #[schema(required)]
    status: Option<StatusShape>,
    /// Its output, as whoever made the call was shown it.
    #[schema(required)]
    output: Option<String>,
    /// How many bytes of the output are left out.
    #[schema(required = false)]
    omitted_bytes: u64,
}

/// How a call ended.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = ObservationStatus)]
pub(crate) enum StatusShape {
    Done,
    Failed,
    Denied,
    Aborted,
    Unknown,
    NotStarted,
}

/// A conversation, told by what is new in it: the first `same` items of what the snapshot before in the
/// session was shown, and then `added`. After a compaction `same` is 0, and so it is in the first of a page.
#[derive(ToSchema)]
#[schema(as = CycleMessages)]
pub(crate) struct MessagesShape {
    /// How many items the model was shown.
    count: u64,
    /// How many of them the snapshot before was shown too.
    same: u64,
    /// The rest, each an object whose one key says what it is.
    added: Vec<serde_json::Map<String, serde_json::Value>>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::Value;
    use utoipa::PartialSchema;
    use windlass_engine::core::{
        CallId, CallItem, Cycle, CycleCall, CycleMessages, Observation, ObservationStatus,
        ProgramEnd, ProgramFault, SampleKind, Timestamp, TurnId, TurnSnapshot, Usage,
    };

    use super::*;

    fn described<T: PartialSchema>() -> BTreeSet<String> {
        let schema = serde_json::to_value(T::schema()).unwrap();
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    }

    fn written(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn a_snapshot_is_described_as_it_is_written() {
        let fault = ProgramFault {
            line: Some(1),
            column: Some(2),
            hint: Some("write less".into()),
            ..ProgramFault::new("parse_error", "no end")
        };
        let observation = Observation {
            omitted_bytes: 3,
            ..Observation::new(ObservationStatus::Done, "out")
        };
        let call = CycleCall {
            id: CallId(5),
            program: Some(CallId(4)),
            call: Arc::new(CallItem {
                provider_id: String::new(),
                name: "read".into(),
                arguments: "{}".into(),
                fault: None,
                rules: Vec::new(),
                opaque: None,
                spoken: false,
            }),
            edited: Some("{ }".into()),
            observation: Some(Arc::new(observation)),
        };
        let cycle = Cycle {
            turn: TurnId(1),
            number: 1,
            kind: SampleKind::Normal,
            attempts: 1,
            started: Timestamp(1),
            ended: Timestamp(2),
            raw_response: "x".into(),
            program: Some("x".into()),
            program_call: Some(CallId(4)),
            result: Some(ProgramEnd::Fault(fault.clone())),
            prints: vec!["p".into()],
            repairs: vec!["r".into()],
            tool_calls: vec![call],
            memory: Some("m".into()),
            messages: CycleMessages::default(),
            usage: Some(Usage::default()),
        };
        let snapshot = TurnSnapshot::failure(cycle, fault);
        let snapshot = serde_json::to_value(snapshot).unwrap();
        assert_eq!(described::<SnapshotShape>(), written(&snapshot));
        let mut end = written(&snapshot["result"]);
        end.insert("value".into());
        assert_eq!(described::<ProgramEndShape>(), end);
        let failure = written(&snapshot["failure"]);
        assert_eq!(described::<ProgramFaultShape>(), failure);
        let call = written(&snapshot["tool_calls"][0]);
        assert_eq!(described::<CycleCallShape>(), call);
        let messages = written(&snapshot["messages"]);
        assert_eq!(described::<MessagesShape>(), messages);
    }
}
