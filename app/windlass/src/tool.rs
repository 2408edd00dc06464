//! Typed tools: functions with arguments that are types.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_engine::core::{Concurrency, EffectClass, Observation, ObservationStatus, ToolSpec};
use windlass_engine::ports::{ToolCall, ToolContext, ToolError, ToolExecutor};

use crate::error::{BoxError, Result};
use crate::schema::TypeSchema;

type Function =
    Box<dyn Fn(ToolContext, String) -> BoxFuture<'static, Result<Value, BoxError>> + Send + Sync>;

/// A tool that is a function.
pub struct Tool {
    spec: ToolSpec,
    has_arguments: bool,
    function: Function,
}

/// Creates a tool from a function of its context and its arguments.
///
/// The doc comment of the arguments' type describes the tool to the model, and those of its fields
/// describe the arguments. The effect class says what becomes of a call whose process died: a
/// `ReadOnly` or `Idempotent` tool runs again, an `Effectful` one never does.
///
/// Arguments that do not fit the type are answered with what is wrong, and the function is not
/// called. A text is shown to the model as it is, any other result as JSON. A function that returns
/// an error or panics is a failed call, and the model reads the error.
///
/// ```
/// use windlass::{EffectClass, Result, ToolContext, tool};
///
/// /// Adds two numbers.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
///
/// async fn add(context: ToolContext, Add { a, b }: Add) -> Result<i64> {
///     context.report("adding");
///     a.checked_add(b).ok_or("the sum is too large".into())
/// }
///
/// let add = tool("add", EffectClass::ReadOnly, add);
/// assert_eq!(add.spec().description, "Adds two numbers.");
/// ```
pub fn tool<A, T, F, R>(name: impl Into<String>, effect: EffectClass, function: F) -> Tool
where
    A: DeserializeOwned + JsonSchema + 'static,
    T: Serialize + 'static,
    F: Fn(ToolContext, A) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T>> + Send + 'static,
{
    let schema = TypeSchema::of::<A>();
    let spec = ToolSpec::new(name, effect).with(|it| {
        it.description = schema.description.unwrap_or_default();
        it.parameters = schema.schema.to_string();
    });
    let function = move |context, arguments: String| match serde_json::from_str(&arguments) {
        Ok(arguments) => {
            let run = function(context, arguments);
            async move { Ok(serde_json::to_value(run.await?)?) }.boxed()
        }
        Err(error) => {
            let words = format!("Not run: the arguments cannot be used: {error}");
            async move { Err(words.into()) }.boxed()
        }
    };
    Tool { spec, has_arguments: schema.is_object, function: Box::new(function) }
}

impl Tool {
    /// Replaces the description, which is the doc comment of the arguments' type.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.spec.description = text.into();
        self
    }

    /// Limits the time of one run.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.spec.timeout_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Replaces the concurrency class: tools that change something run alone, others in parallel.
    #[must_use]
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.spec.concurrency = concurrency;
        self
    }

    /// Returns the tool as the model and the engine see it.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Returns what is missing for a model to use the tool.
    pub(crate) fn fault(&self) -> Option<String> {
        let name = &self.spec.name;
        if !self.has_arguments {
            return Some(format!("the arguments of the tool {name} are no struct: use one"));
        }
        self.spec.description.is_empty().then(|| {
            format!(
                "the tool {name} has no description: write a doc comment on the type of its \
                 arguments"
            )
        })
    }
}

#[async_trait]
impl ToolExecutor for Tool {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![self.spec.clone()]
    }

    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError> {
        if call.name != self.spec.name {
            return Err(ToolError::unsupported(format!("there is no tool {} here", call.name)));
        }
        let (cancel, ms) = (context.cancel.clone(), context.timeout_ms);
        if cancel.is_cancelled() {
            return Ok(Observation::new(ObservationStatus::Aborted, "Stopped before it started."));
        }
        let run = async { (self.function)(context, call.arguments).await };
        let run = AssertUnwindSafe(run).catch_unwind();
        // A read may be dropped at any point; whatever changes something ends by itself.
        let ran = match self.spec.effect {
            EffectClass::ReadOnly => tokio::select! {
                ran = run => ran,
                () = cancel.cancelled() => {
                    return Ok(Observation::new(ObservationStatus::Aborted, "Stopped."));
                }
                () = tokio::time::sleep(Duration::from_millis(ms)) => {
                    let words = format!("Stopped: it ran longer than its limit of {ms} ms.");
                    return Ok(Observation::new(ObservationStatus::Aborted, words));
                }
            },
            EffectClass::Idempotent | EffectClass::Effectful => run.await,
        };
        Ok(match ran {
            Ok(Ok(value)) => Observation::new(ObservationStatus::Done, text(value)),
            Ok(Err(error)) if cancel.is_cancelled() => {
                Observation::new(ObservationStatus::Aborted, error.to_string())
            }
            Ok(Err(error)) => Observation::new(ObservationStatus::Failed, words(error.as_ref())),
            Err(panic) => {
                let words = format!("The tool panicked: {}", message(panic.as_ref()));
                Observation::new(ObservationStatus::Failed, words)
            }
        })
    }
}

/// Returns a result as the model reads it.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => "Done.".to_owned(),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            value.to_string()
        }
    }
}

/// Returns an error with its causes.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = error.source();
    }
    words
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}
