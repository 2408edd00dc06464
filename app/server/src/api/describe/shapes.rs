//! Shapes: schemas of the core's values, for the description. Each mirrors a type of the core,
//! which does not depend on HTTP; tests compare them with serialised values.

#![expect(dead_code, reason = "they are read by the description alone")]

use std::borrow::Cow;

use serde::Deserialize;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use windlass_engine::core::Fact;

/// Mode of turns.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = Mode)]
pub(crate) enum ModeShape {
    /// Tools may change things, as far as the permissions go.
    Build,
    /// Only read-only tools run.
    Plan,
}

/// Permissions of calls.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = Permissions)]
pub(crate) enum PermissionsShape {
    /// Every offered tool runs.
    Auto,
    /// Read-only tools run; others need an approval.
    Ask,
    /// Only read-only tools run.
    ReadOnly,
}

/// Reason for a question to a person.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = ApprovalReason)]
pub(crate) enum ApprovalReasonShape {
    /// The permissions ask, and nothing allowed the call.
    Permissions,
    /// A rule asks.
    Rule,
    /// A rule that denies may match.
    PossibleDenial,
    /// A hook asks.
    Hook,
    /// An earlier process left the call.
    Held,
    /// The call would run outside of the sandbox.
    OutsideSandbox,
}

/// Lifetime of a grant.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = GrantLifetime)]
pub(crate) enum GrantLifetimeShape {
    /// The rest of the session.
    Session,
    /// Until it is revoked, in all sessions of the workspace.
    Always,
}

/// Transport of programs.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = ProgramTransport)]
pub(crate) enum TransportShape {
    /// By a call of the only offered tool.
    Call,
    /// In the text of the answer. No tool is offered.
    Text,
}

/// Turn to which an input is delivered.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = Delivery)]
pub(crate) enum DeliveryShape {
    /// A turn of its own, after the waiting ones.
    Turn,
    /// The running turn, as soon as possible; without one, the next turn.
    Steer,
    /// A turn of its own right after the running one.
    FollowUp,
}

/// Inputs that wait, in their order.
#[derive(ToSchema)]
#[schema(as = InputQueue, example = json!({"inputs": [], "held": false}))]
pub(crate) struct InputQueueShape {
    /// Inputs that no turn has accepted yet. Steering inputs and follow-ups precede the others,
    /// wherever they stand.
    inputs: Vec<WaitingInputShape>,
    /// True if they wait, after an interrupt or a rewind, to be resumed.
    held: bool,
}

/// Input that no turn has accepted yet.
#[derive(ToSchema)]
#[schema(as = WaitingInput, example = json!({
    "input": 9, "text": "And now the tests.", "delivery": "turn", "images": 0, "dry_run": false,
    "turn": null
}))]
pub(crate) struct WaitingInputShape {
    /// Id of the input.
    input: u64,
    /// Its text, with all edits.
    text: String,
    /// Delivery of the input.
    delivery: DeliveryShape,
    /// Number of its images.
    images: usize,
    /// True if its turn only plans what its tools would do.
    dry_run: bool,
    /// Turn that was opened for it; it can be edited, and neither moved nor withdrawn.
    #[schema(required)]
    turn: Option<u64>,
}

/// Time at which a turn must stop.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = StopWhen)]
pub(crate) enum StopTimingShape {
    /// At once: running effects are told to stop.
    Now,
    /// Before the next model call: running effects may end.
    AfterStep,
}

/// Effect class of a tool.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = EffectClass)]
pub(crate) enum EffectShape {
    /// It changes nothing.
    ReadOnly,
    /// Running it twice under one key has the effect of one run.
    Idempotent,
    /// It changes something.
    Effectful,
}

/// Change of a file that a call would make.
#[derive(ToSchema)]
#[schema(as = FileChange)]
pub(crate) struct FileChangeShape {
    /// Text of the file; null if there is none yet.
    #[schema(required)]
    before: Option<String>,
    /// Text that it would have.
    after: String,
}

/// Origin of a session.
#[derive(ToSchema)]
#[schema(as = Lineage)]
pub(crate) struct LineageShape {
    /// Kind of the origin: a new session, a copy of another session's log, or a call of another
    /// session's turn.
    from: FromShape,
    /// Id of the other session.
    #[schema(required = false)]
    of: String,
    /// Of a fork: the last copied position.
    #[schema(required = false)]
    at: u64,
    /// Of a child: the call that started it.
    #[schema(required = false)]
    call: u64,
    /// Of a fork: the origins of the copied facts, nearest first.
    #[schema(required = false)]
    before: Vec<AncestorShape>,
}

/// Origin of a session that another one was forked from.
#[derive(ToSchema)]
#[schema(as = Ancestor)]
pub(crate) struct AncestorShape {
    /// Kind of the origin: a copy of another session's log, or a call of another session's turn.
    from: FromShape,
    /// Id of the other session.
    of: String,
    /// Of a fork: the last copied position.
    #[schema(required = false)]
    at: u64,
    /// Of a child: the call that started it.
    #[schema(required = false)]
    call: u64,
}

/// Kind of a session's origin.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = From)]
pub(crate) enum FromShape {
    Root,
    Fork,
    Child,
}

/// Context for the model beside an input, such as the instructions of a project or the state of an
/// editor. A part is repeated only when its text has changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ContextPart)]
pub(crate) struct ContextPartShape {
    /// Name of the context, for example of a file. Parts of the same name replace one another.
    from: String,
    /// The text.
    text: String,
}

/// Cause of a decision.
#[derive(ToSchema)]
#[schema(as = DecisionCause)]
pub(crate) struct CauseShape {
    /// Kind of the input, such as `send` or `sample_event`.
    input: String,
    /// Number of the decision's facts.
    facts: u32,
    /// Number drawn from the input's entropy, if the decision drew one.
    drawn: Option<u64>,
}

/// A fact with its place in the log.
#[derive(ToSchema)]
#[schema(as = Fact, example = json!({
    "v": 1, "session": "01k8q3v5w2x9n4c7d1f6g0h2jk", "seq": 9, "turn": null, "ts": 1_790_000_000_000_u64,
    "kind": "InputQueued",
    "body": {"scope": {"kind": "principal", "tenant": "local", "principal": "ann"},
             "text": "List the files.", "delivery": "turn"},
}))]
pub(crate) struct FactShape {
    /// The version of the body.
    v: u32,
    /// The session.
    session: String,
    /// The position in the session's log, from 1, without gaps.
    seq: u64,
    /// Turn of the fact, if it has one.
    #[schema(required)]
    turn: Option<u64>,
    /// Time of the decision, in milliseconds since 1970.
    ts: u64,
    /// Cause of the decision; only on its first fact.
    cause: Option<CauseShape>,
    /// Kind of the fact.
    kind: KindShape,
    /// Contents of the fact, by its kind.
    #[schema(value_type = Object)]
    body: (),
}

/// Kinds of facts, as in the table of facts.
pub(crate) struct KindShape;

impl PartialSchema for KindShape {
    fn schema() -> RefOr<Schema> {
        let kind = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("What happened."))
            .enum_values(Some(Fact::KINDS.iter().copied()));
        kind.into()
    }
}

impl ToSchema for KindShape {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Kind")
    }
}

/// Outcome of a turn.
#[derive(ToSchema)]
#[schema(as = Outcome, example = json!({"outcome": "completed"}))]
pub(crate) struct OutcomeShape {
    /// Name of the outcome.
    outcome: OutcomeNameShape,
    /// Of an interrupted one: the source.
    #[schema(required = false)]
    by: InterruptSourceShape,
    /// Of an interrupted or blocked one: the reason.
    #[schema(required = false)]
    reason: String,
    /// Of an exhausted one: the limit that was reached.
    #[schema(required = false)]
    limit: String,
    /// Of a failed one: the kind of failure.
    #[schema(required = false)]
    failure: String,
    /// Of a failed one: description and advice.
    #[schema(required = false)]
    message: String,
    /// Of one with invalid output: the fault of the answer.
    #[schema(required = false)]
    fault: String,
}

/// Name of a turn's outcome.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = OutcomeName)]
pub(crate) enum OutcomeNameShape {
    Completed,
    NoAnswer,
    Refused,
    InvalidOutput,
    Interrupted,
    Blocked,
    Exhausted,
    Failed,
}

/// Source of an interruption.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = Interrupter)]
pub(crate) enum InterruptSourceShape {
    Person,
    Parent,
    Shutdown,
    Deadline,
}

/// Tokens of a turn. Values that the provider did not report are omitted.
#[derive(ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageShape {
    /// Tokens of requests.
    #[schema(required = false)]
    input: u64,
    /// Tokens of answers.
    #[schema(required = false)]
    output: u64,
    /// The total as sent.
    #[schema(required = false)]
    total: u64,
    /// Request tokens that came from the provider's cache.
    #[schema(required = false)]
    cached_input: u64,
    /// Request tokens that the provider wrote into its cache.
    #[schema(required = false)]
    cache_write: u64,
    /// Answer tokens spent on reasoning.
    #[schema(required = false)]
    reasoning_output: u64,
}

/// Usage of a turn.
#[derive(ToSchema)]
#[schema(as = Spent)]
pub(crate) struct TurnUsageShape {
    /// Model calls; retried attempts of one count once.
    samples: u32,
    /// Attempts at model calls.
    attempts: u32,
    /// Calls that the model asked for.
    calls: u32,
    /// Tokens, as far as the provider reported them.
    usage: UsageShape,
    /// Estimated tokens of model calls without reported usage.
    estimated_tokens: u64,
    /// Cost in millionths of the currency of the prices.
    cost_micros: u64,
    /// Number of continuations by hooks.
    continuations: u32,
    /// Compactions.
    compactions: u32,
    /// Number of re-asks for an answer that fits the output schema.
    #[schema(required = false)]
    re_asks: u32,
}

/// Limits of a turn; an omitted limit has its default. Times are milliseconds. 0 means no limit
/// where stated, else zero.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Limits, example = json!({"samples": 20, "turn_ms": 600_000}))]
pub(crate) struct LimitsShape {
    /// Model calls per turn.
    #[schema(required = false)]
    samples: u32,
    /// Calls per model call.
    #[schema(required = false)]
    calls_per_sample: u32,
    /// Calls per turn.
    #[schema(required = false)]
    calls: u32,
    /// Attempts per model call.
    #[schema(required = false)]
    attempts: u32,
    /// Most restarts of one model call, or of one repeatable call, after a process died.
    #[schema(required = false)]
    restarts: u32,
    /// Calls that run at the same time.
    #[schema(required = false)]
    parallel_calls: u32,
    /// Tokens per turn; 0 means no limit.
    #[schema(required = false)]
    tokens: u64,
    /// Cost per turn, in millionths; 0 means no limit.
    #[schema(required = false)]
    cost_micros: u64,
    /// Most continuations by hooks after the model ended a turn.
    #[schema(required = false)]
    continuations: u32,
    /// Most times in a row that the model is asked again after an empty answer.
    #[schema(required = false)]
    empty_answers: u32,
    /// Compactions per turn.
    #[schema(required = false)]
    compactions: u32,
    /// Bytes of context from hooks per turn, and from a presenter per input.
    #[schema(required = false)]
    context_bytes: u64,
    /// Wall-clock time per turn; 0 means no limit.
    #[schema(required = false)]
    turn_ms: u64,
    /// Time after which an unanswered approval counts as denied; 0 means no limit.
    #[schema(required = false)]
    approval_ms: u64,
    /// Time without a fact after which a new process asks an expired question again; 0 means never.
    #[schema(required = false)]
    reask_after_ms: u64,
    /// Waiting inputs of a session.
    #[schema(required = false)]
    queue: u32,
    /// Bytes of the session; 0 means no limit.
    #[schema(required = false)]
    session_bytes: u64,
    /// First backoff between attempts.
    #[schema(required = false)]
    backoff_ms: u64,
    /// Longest backoff.
    #[schema(required = false)]
    backoff_max_ms: u64,
    /// Longest wait that a provider may ask for before the next attempt.
    #[schema(required = false)]
    retry_after_ms: u64,
    /// Time from sending a request to the response's head.
    #[schema(required = false)]
    connect_ms: u64,
    /// Time from the response's head to its first event.
    #[schema(required = false)]
    first_byte_ms: u64,
    /// Time between two events of a stream.
    #[schema(required = false)]
    idle_ms: u64,
    /// Time of a whole attempt.
    #[schema(required = false)]
    sample_ms: u64,
    /// Time of one run of a tool.
    #[schema(required = false)]
    call_ms: u64,
    /// Time from telling an effect to stop until it counts as stopped.
    #[schema(required = false)]
    grace_ms: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use windlass_engine::core::{Limits, TurnUsage};

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
    fn limits_and_what_a_turn_took_are_described_as_they_are_written() {
        let limits = serde_json::to_value(Limits::default()).unwrap();
        assert_eq!(described::<LimitsShape>(), written(&limits));
        let spent = TurnUsage { re_asks: 1, ..TurnUsage::default() };
        let spent = serde_json::to_value(spent).unwrap();
        assert_eq!(described::<TurnUsageShape>(), written(&spent));
    }

    #[test]
    fn the_kinds_of_facts_are_those_that_the_core_knows() {
        let schema = serde_json::to_value(KindShape::schema()).unwrap();
        let kinds = schema["enum"].as_array().unwrap();
        for kind in kinds {
            let kind = kind.as_str().unwrap();
            assert!(Fact::KINDS.contains(&kind), "{kind}");
        }
        assert_eq!(kinds.len(), Fact::KINDS.len());
    }
}
