//! Spans, recorded: what a test's thread does, as traces show it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};
use windlass_ports::sync::Mutex;

/// Records the spans of this thread for as long as it lives.
///
/// A test on a runtime of one thread sees those of the engine, too: it has no threads of its own.
#[derive(Debug)]
pub struct Spans {
    spans: SharedSpans,
    _default: DefaultGuard,
}

/// A span, as it was opened and recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSpan {
    /// Name of the span.
    pub name: &'static str,
    /// Names of the spans around it, from the outermost.
    pub parents: Vec<&'static str>,
    /// Its fields that have a value, as text.
    pub fields: BTreeMap<&'static str, String>,
}

type SharedSpans = Arc<Mutex<SpanTable>>;

#[derive(Debug, Default)]
struct SpanTable {
    all: Vec<RecordedSpan>,
    /// Spans that are entered, from the outermost.
    entered: Vec<usize>,
}

impl Spans {
    /// Records from now on.
    #[must_use]
    pub fn record() -> Self {
        let spans = SharedSpans::default();
        let recorder = SpanRecorder { spans: spans.clone() };
        Self { spans, _default: tracing::subscriber::set_default(recorder) }
    }

    /// The spans of a name, in the order in which they were opened.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<RecordedSpan> {
        let spans = self.spans.lock();
        spans.all.iter().filter(|span| span.name == name).cloned().collect()
    }
}

impl RecordedSpan {
    /// Value of a field; empty if it has none.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

struct SpanRecorder {
    spans: SharedSpans,
}

impl SpanRecorder {
    /// Index of a span. Ids begin with 1.
    fn index(id: &Id) -> usize {
        usize::try_from(id.into_u64().saturating_sub(1)).unwrap_or(usize::MAX)
    }
}

impl Subscriber for SpanRecorder {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = FieldTexts(BTreeMap::new());
        attributes.record(&mut fields);
        let mut spans = self.spans.lock();
        let parent = match attributes.parent() {
            Some(parent) => Some(Self::index(parent)),
            None if attributes.is_contextual() => spans.entered.last().copied(),
            None => None,
        };
        let parent = parent.and_then(|parent| spans.all.get(parent));
        let parents = parent.map_or_else(Vec::new, |parent| {
            let mut parents = parent.parents.clone();
            parents.push(parent.name);
            parents
        });
        let name = attributes.metadata().name();
        spans.all.push(RecordedSpan { name, parents, fields: fields.0 });
        Id::from_u64(spans.all.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.spans.lock();
        if let Some(span) = spans.all.get_mut(Self::index(span)) {
            let mut fields = FieldTexts(std::mem::take(&mut span.fields));
            values.record(&mut fields);
            span.fields = fields.0;
        }
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.spans.lock().entered.push(Self::index(span));
    }

    fn exit(&self, span: &Id) {
        let mut spans = self.spans.lock();
        let index = Self::index(span);
        if let Some(at) = spans.entered.iter().rposition(|entered| *entered == index) {
            spans.entered.remove(at);
        }
    }
}

/// Fields as text.
struct FieldTexts(BTreeMap<&'static str, String>);

impl Visit for FieldTexts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
