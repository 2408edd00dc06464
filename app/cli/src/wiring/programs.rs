//! Programs: available runtimes, and the guide for models that write programs.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use windlass_engine::core::{ProgramLimits, ProgramMode, Settings};
use windlass_engine::ports::ProgramRuntimes;

use crate::args::SettingsArgs;
use crate::exit::Failure;

/// Most bytes of inputs, which the log contains with the settings.
const MOST: u64 = 256 * 1024;

/// Every language that programs may be written in, with the cargo feature that builds it.
const LANGUAGES: &[(&str, &str)] = &[("ptclisp", "PTC-Lisp"), ("javascript", "JavaScript")];

/// Returns the runtimes of this build.
pub(crate) fn runtimes() -> ProgramRuntimes {
    let runtimes = ProgramRuntimes::none();
    #[cfg(feature = "ptclisp")]
    let runtimes = runtimes.with(Arc::new(windlass_ptclisp::PtcLisp));
    #[cfg(feature = "javascript")]
    let runtimes = runtimes.with(Arc::new(windlass_javascript::JavaScript));
    runtimes
}

/// Parses the name of an available runtime.
pub(crate) fn runtime(name: &str) -> Result<String, String> {
    let runtimes = runtimes();
    match runtimes.get(name) {
        Some(_) => Ok(name.to_owned()),
        None => {
            Err(format!("{name:?} is not a runtime; there are: {}", runtimes.names().join(", ")))
        }
    }
}

/// Rejects a language that this build lacks.
fn is_built(runtime: &str) -> Result<(), Failure> {
    let language = LANGUAGES.iter().find(|(name, _)| *name == runtime);
    match (runtimes().get(runtime), language) {
        (None, Some((feature, language))) => {
            Err(Failure::not_built(&format!("programs in {language}"), feature))
        }
        (Some(_), _) | (None, None) => Ok(()),
    }
}

/// Changes the program settings as the command requests.
pub(super) fn set(program: &mut Option<ProgramMode>, shape: &SettingsArgs) -> Result<(), Failure> {
    if shape.no_program {
        *program = None;
    }
    if let Some(runtime) = &shape.program {
        is_built(runtime)?;
        let before = program.take();
        *program = Some(match before {
            Some(before) => ProgramMode {
                runtime: runtime.clone(),
                corrections: ProgramMode::CORRECTIONS,
                ..before
            },
            None => ProgramMode::new(runtime.clone()),
        });
    }
    let Some(program) = program else {
        let none = shape.program_transport.is_none() && shape.program_data.is_none();
        return match none && !shape.program_limits.any() {
            true => Ok(()),
            false => Err(Failure::usage(
                "--program-transport, --program-data and limits of programs need a model that writes \
                 programs: use --program ptclisp or --program javascript",
            )),
        };
    };
    program.limits = shape.program_limits.apply(program.limits);
    program.transport = shape.program_transport.unwrap_or(program.transport);
    if let Some(file) = &shape.program_data {
        program.data = Some(data(file)?);
    }
    Ok(())
}

/// Returns the upper bound on the limits of programs: the operator sets them, so it equals them.
pub(super) fn ceiling(settings: &Settings) -> ProgramLimits {
    settings.options.program.as_ref().map_or_else(ProgramLimits::default, |one| one.limits)
}

fn data(file: &Path) -> Result<Arc<str>, Failure> {
    let unread = |why: String| {
        Failure::usage(format!(
            "the inputs of programs {}: {why}; name a file with one JSON object with --program-data",
            file.display()
        ))
    };
    let about = fs::metadata(file).map_err(|error| unread(error.to_string()))?;
    if !about.is_file() || about.len() > MOST {
        return Err(unread(format!("it is not a file of at most {MOST} bytes")));
    }
    let text = fs::read_to_string(file).map_err(|error| unread(error.to_string()))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(_)) => Ok(text.into()),
        Ok(_) => Err(unread("it is not a JSON object".to_owned())),
        Err(error) => Err(unread(format!("it is not JSON: {error}"))),
    }
}

#[cfg(test)]
#[cfg(all(feature = "javascript", feature = "ptclisp"))]
mod tests {
    use super::*;
    use windlass_engine::core::{Permissions, ProgramTransport};

    fn settings() -> Settings {
        Settings::new("demo", "m").with(|it| {
            it.instructions = "be good".to_owned();
            it.permissions = Permissions::Auto;
        })
    }

    #[test]
    fn the_guide_comes_and_goes_and_the_own_instructions_stay() {
        let mut settings = settings();
        let mut shape =
            SettingsArgs { program: Some("ptclisp".to_owned()), ..SettingsArgs::default() };
        set(&mut settings.options.program, &shape).unwrap();
        runtimes().write_guide(&mut settings);
        let lisp = settings.instructions.clone();
        assert!(lisp.starts_with("be good\n\n") && lisp.contains("PTC-Lisp"));
        runtimes().write_guide(&mut settings);
        assert_eq!(settings.instructions, lisp);
        shape.program = Some("javascript".to_owned());
        set(&mut settings.options.program, &shape).unwrap();
        runtimes().write_guide(&mut settings);
        assert!(settings.instructions.contains("JavaScript"));
        assert!(!settings.instructions.contains("PTC-Lisp"));
        let none = SettingsArgs { no_program: true, ..SettingsArgs::default() };
        set(&mut settings.options.program, &none).unwrap();
        runtimes().write_guide(&mut settings);
        assert_eq!(settings.instructions, "be good");
        let transport = SettingsArgs {
            program_transport: Some(ProgramTransport::Text),
            ..SettingsArgs::default()
        };
        assert!(set(&mut settings.options.program, &transport).is_err());
    }
}
