//! Values in force, each with its source.

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::Serialize;
use url::Url;

use super::keys::{Key, KeyForm, Keys};
use super::{Config, is_given};

/// Key with its value in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct KeyInForce {
    pub(crate) key: String,
    /// Values, of which only a list has several; none if nothing names the key.
    values: Vec<String>,
    /// Source of the values; none for the default.
    pub(crate) from: Option<String>,
    /// Default, as the help of the flag describes it.
    pub(crate) default: Option<String>,
    #[serde(skip)]
    form: KeyForm,
}

impl KeyInForce {
    /// Returns the value as the file writes it; `None` if nothing names the key.
    pub(crate) fn written(&self) -> Option<String> {
        let quoted = |text: &String| toml::Value::String(text.clone()).to_string();
        let first = self.values.first()?;
        Some(match self.form {
            KeyForm::Switch | KeyForm::Number => first.clone(),
            KeyForm::Text => quoted(first),
            KeyForm::List => {
                format!("[{}]", self.values.iter().map(quoted).collect::<Vec<_>>().join(", "))
            }
        })
    }
}

/// Returns every key with its value, by a command and the configuration.
pub(crate) fn in_force(config: Option<&Config>, given: &ArgMatches) -> Vec<KeyInForce> {
    let named = given.try_get_one::<String>("model").ok().flatten();
    let model = match config {
        Some(config) => config.model_in_force(named.map(String::as_str)),
        None => named.cloned(),
    };
    let keys = Keys::new();
    keys.all().iter().map(|key| key_in_force(config, given, key, model.as_deref())).collect()
}

fn key_in_force(
    config: Option<&Config>,
    given: &ArgMatches,
    key: &Key,
    model: Option<&str>,
) -> KeyInForce {
    let (mut values, mut from) = (Vec::new(), Vec::new());
    if is_given(given, &key.id) {
        let raw = given.try_get_raw(&key.id).ok().flatten().into_iter().flatten();
        values.extend(raw.map(|value| value.to_string_lossy().into_owned()));
        from.push(match (given.value_source(&key.id), &key.variable) {
            (Some(ValueSource::EnvVariable), Some(variable)) => variable.clone(),
            _ => format!("--{}", key.name),
        });
    }
    if let Some(config) = config.filter(|config| config.is_open(key, given)) {
        for (entry, table) in config.entries_for(key, model) {
            values.extend(entry.values.clone());
            let table = table.map(|table| format!("{table}, ")).unwrap_or_default();
            from.push(format!("{table}{}:{}", super::NAME, entry.line));
        }
    }
    // A switch of the command has the value true.
    let values = values.into_iter().map(without_password).collect();
    KeyInForce {
        key: key.written(),
        values,
        from: (!from.is_empty()).then(|| from.join(" and ")),
        default: key.default.clone(),
        form: key.form,
    }
}

/// Returns a value without the password of a URL.
fn without_password(value: String) -> String {
    match Url::parse(&value) {
        Ok(mut url) if url.password().is_some() => {
            let hidden = url.set_password(Some("***"));
            hidden.map_or(value, |()| url.to_string())
        }
        Ok(_) | Err(_) => value,
    }
}
