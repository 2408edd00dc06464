//! Error-level events, caught: a driver that says one has met what must not be.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};
use windlass_ports::sync::Mutex;

/// Catches the error-level events of this thread for as long as it lives.
///
/// A test on a runtime of one thread sees those of the engine, too: it has no threads of its own.
///
/// ```
/// use windlass_testkit::Errors;
///
/// let errors = Errors::catch();
/// // ... run a turn, then:
/// assert_eq!(errors.take(), Vec::<String>::new());
/// ```
#[derive(Debug)]
pub struct Errors {
    caught: Caught,
    _default: DefaultGuard,
}

type Caught = Arc<Mutex<Vec<String>>>;

impl Errors {
    /// Catches from now on.
    #[must_use]
    pub fn catch() -> Self {
        let caught = Caught::default();
        let catcher = Catcher { caught: caught.clone() };
        Self { caught, _default: tracing::subscriber::set_default(catcher) }
    }

    /// What was caught since the last time: each event with its fields, in one line.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.caught.lock())
    }
}

struct Catcher {
    caught: Caught,
}

impl Subscriber for Catcher {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        let mut caught = self.caught.lock();
        caught.push(line.0);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// One event in one line.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, ": {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_caught_and_nothing_else() {
        let errors = Errors::catch();
        tracing::warn!("not so bad");
        tracing::error!(session = %"s1", "it broke");
        let target = module_path!();
        assert_eq!(errors.take(), [format!("{target}: it broke session=s1")]);
        assert_eq!(errors.take(), Vec::<String>::new());
        drop(errors);
        tracing::error!("nobody hears this");
    }
}
