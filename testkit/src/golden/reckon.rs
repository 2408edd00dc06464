//! Computes the lines of a digest file from a log, position by position.
//!
//! ```text
//! windlass golden 1
//! engine 0.1.0
//! from a simulated world
//! 1 line=.. kind=SessionOpened fold=..
//! 5 line=.. kind=SampleStarted fold=..
//! 5 request prompt=.. core=..
//! end facts=17 fold=..
//! seal ..
//! ```
//!
//! `line` is the SHA-256 of the log's line. `fold` is that of the state there and of the `fold`
//! before it, so the last one covers all. `prompt` is that of the rendered request, and `core` the digest
//! that the core recorded for it. `seal` is that of the text before it.

use windlass_core::{Fact, History, RecordedFact, Seq, Session, evolve_first, render};
use windlass_ports::codec;

use super::canon::sha256;
use super::{Covered, covers, prompt, state};
use crate::world::Transitions;

/// Lines before that of the first position.
pub(super) const HEADER: usize = 3;
const FORM: &str = "windlass golden 1";

/// Returns the first lines of a digest file.
///
/// # Errors
/// What is wrong with them.
pub(super) fn header(digest: &str) -> Result<Vec<String>, String> {
    let header: Vec<String> = digest.lines().take(HEADER).map(String::from).collect();
    match header.as_slice() {
        [form, engine, from]
            if form == FORM && engine.starts_with("engine ") && from.starts_with("from ") =>
        {
            Ok(header)
        }
        _ => Err(format!(
            "its digest does not begin with {FORM:?}, the engine, and where the log is from"
        )),
    }
}

/// Returns the digest file of a new log. `from` names its origin in a few words.
///
/// # Errors
/// What is wrong with the log.
pub fn make(log: &[u8], from: &str) -> Result<String, String> {
    let header =
        [FORM.to_owned(), format!("engine {}", env!("CARGO_PKG_VERSION")), format!("from {from}")];
    let mut reckoned = Reckoned::new(&Transitions::CORE, &header);
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let at = reckoned.next();
        let wrong = |what| format!("position {at}: {what}");
        reckoned.take(line).map_err(wrong)?;
        let written = codec::encode(&decode(line).map_err(wrong)?);
        if written.ok().as_deref() != line.strip_suffix(b"\n") {
            return Err(wrong(String::from("it is not written as this engine writes it")));
        }
    }
    if reckoned.state.is_none() {
        return Err(String::from("the log is empty"));
    }
    reckoned.end();
    Ok(reckoned.text)
}

/// The facts of a log in its text form.
///
/// # Errors
/// What is wrong with the first line that does not read.
pub fn facts(log: &[u8]) -> Result<Vec<RecordedFact>, String> {
    let lines = log.split_inclusive(|byte| *byte == b'\n');
    lines.map(decode).collect()
}

/// The beginning of the line of a position, which says what the log holds there.
pub(super) fn line(at: Seq, line: &[u8]) -> String {
    format!("{at} line={}", sha256(&[line]))
}

/// That beginning, of a line of a digest.
pub(super) fn line_of(text: &str) -> Option<&str> {
    text.split(" kind=").next()
}

fn decode(line: &[u8]) -> Result<RecordedFact, String> {
    let Some(text) = line.strip_suffix(b"\n") else {
        return Err(String::from("the line has no end: the log was cut"));
    };
    codec::decode(text).map_err(|error| error.to_string())
}

/// A digest as it is worked out.
#[derive(Debug)]
pub(super) struct Reckoned<'a> {
    transitions: &'a Transitions,
    state: Option<(Session, History)>,
    /// The digest of all states so far.
    fold: String,
    text: String,
    covered: Covered,
}

impl<'a> Reckoned<'a> {
    pub(super) fn new(transitions: &'a Transitions, header: &[String]) -> Self {
        let text = header.iter().map(|line| format!("{line}\n")).collect();
        Self { transitions, state: None, fold: String::new(), text, covered: Covered::default() }
    }

    /// The position of the next line.
    pub(super) fn next(&self) -> Seq {
        Seq(self.covered.facts).next()
    }

    /// Takes a line of the log, and answers with what it comes to.
    ///
    /// # Errors
    /// Why it does not read, or does not fit.
    pub(super) fn take(&mut self, text: &[u8]) -> Result<Vec<String>, String> {
        let recorded = decode(text)?;
        self.fold(&recorded)?;
        let Some((session, history)) = &self.state else {
            return Err(String::from("nothing was opened"));
        };
        let at = recorded.seq;
        self.fold = sha256(&[self.fold.as_bytes(), state::text(session, history).as_bytes()]);
        let mut texts =
            vec![format!("{} kind={} fold={}", line(at, text), recorded.fact.kind(), self.fold)];
        if let Fact::SampleStarted(fact) = &recorded.fact {
            let turn = session.turn().ok_or("the model was asked in no turn")?;
            let shown = render(history, &turn.settings, &session.found_tools);
            let digest = shown.digest();
            if digest != fact.digest {
                return Err(format!(
                    "the request renders to {digest}, and {} was recorded",
                    fact.digest
                ));
            }
            let prompt = sha256(&[prompt::text(&shown).as_bytes()]);
            texts.push(format!("{at} request prompt={prompt} core={digest}"));
            self.covered.requests += 1;
        }
        if let Fact::TurnSettled(_) = &recorded.fact {
            self.covered.turns += 1;
        }
        self.covered.facts += 1;
        self.covered.labels.extend(covers::labels(&recorded));
        for text in &texts {
            self.text.push_str(text);
            self.text.push('\n');
        }
        Ok(texts)
    }

    fn fold(&mut self, recorded: &RecordedFact) -> Result<(), String> {
        let (session, history) = match self.state.take() {
            None => {
                (evolve_first(recorded).map_err(|misfit| misfit.to_string())?, History::default())
            }
            Some((session, mut history)) => {
                let fold = (self.transitions.evolve)(session, recorded);
                let session = fold.map_err(|misfit| misfit.to_string())?;
                let remembered = (self.transitions.remember)(&mut history, recorded);
                remembered.map_err(|misfit| misfit.to_string())?;
                (session, history)
            }
        };
        self.state = Some((session, history));
        Ok(())
    }

    /// What comes after the last position, and all that the log held.
    pub(super) fn end(&mut self) -> ([String; 2], Covered) {
        let end = format!("end facts={} fold={}", self.covered.facts, self.fold);
        self.text.push_str(&end);
        self.text.push('\n');
        let seal = format!("seal {}", sha256(&[self.text.as_bytes()]));
        self.text.push_str(&seal);
        self.text.push('\n');
        ([end, seal], self.covered.clone())
    }
}
