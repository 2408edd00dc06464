//! Output schema of a session's answers, from a file or a signature.

use std::fs;
use std::path::Path;

use windlass_engine::core::OutputSchema;

use crate::args::SettingsArgs;
use crate::exit::Failure;

/// Default number of re-asks after invalid output.
const RETRIES: u32 = 2;
/// Largest schema, in bytes; each request contains it.
const MOST: u64 = 256 * 1024;

/// Changes the output schema of a session as the command requests.
pub(super) fn set(answer: &mut Option<OutputSchema>, shape: &SettingsArgs) -> Result<(), Failure> {
    if shape.no_answer_schema {
        *answer = None;
    }
    if let Some(file) = &shape.answer_schema {
        let retries = answer.as_ref().map_or(RETRIES, |before| before.max_re_asks);
        *answer = Some(read(file, retries)?);
    }
    if let Some(signature) = &shape.answer_signature {
        let retries = answer.as_ref().map_or(RETRIES, |before| before.max_re_asks);
        *answer = Some(OutputSchema {
            name: "answer".to_owned(),
            schema: of_signature(signature)?,
            strict: false,
            max_re_asks: retries,
        });
    }
    match (answer, shape.answer_retries) {
        (Some(answer), Some(retries)) => answer.max_re_asks = retries,
        (None, Some(_)) => {
            return Err(Failure::usage(
                "--answer-retries needs an answer schema: name one with --answer-schema FILE, \
                 or a type with --answer-signature",
            ));
        }
        (Some(_) | None, None) => {}
    }
    Ok(())
}

/// Returns the JSON Schema of the value that a signature describes.
#[cfg(feature = "ptclisp")]
fn of_signature(text: &str) -> Result<String, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("the answer's signature {text:?}: {why}"))
    };
    let signature = windlass_ptclisp::Signature::parse(text).map_err(|error| wrong(&error))?;
    let schema = signature.output().schema().map_err(|error| wrong(&error))?;
    Ok(schema.to_string())
}

/// Rejects every signature: their parser comes with PTC-Lisp.
#[cfg(not(feature = "ptclisp"))]
fn of_signature(_text: &str) -> Result<String, Failure> {
    Err(Failure::not_built("signatures of answers", "ptclisp"))
}

fn read(file: &Path, retries: u32) -> Result<OutputSchema, Failure> {
    let unread = |why: String| {
        Failure::usage(format!(
            "the answer's schema {}: {why}; name a file of JSON Schema with --answer-schema",
            file.display()
        ))
    };
    let about = fs::metadata(file).map_err(|error| unread(error.to_string()))?;
    if !about.is_file() || about.len() > MOST {
        return Err(unread(format!("it is not a file of at most {MOST} bytes")));
    }
    let schema = fs::read_to_string(file).map_err(|error| unread(error.to_string()))?;
    let name = file.file_stem().unwrap_or_default();
    Ok(OutputSchema {
        name: name.to_string_lossy().into_owned(),
        schema,
        strict: false,
        max_re_asks: retries,
    })
}
