//! The peer's arguments: pairs of a name and a value, of which unknown ones are ignored.

use std::collections::BTreeMap;

use windlass_openai::Api;

/// Command line of `bench-peer`, without the arguments that it ignores.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) base_url: String,
    pub(super) model: String,
    pub(super) dir: String,
    pub(super) store: String,
    pub(super) mode: Mode,
    pub(super) api: Api,
    pub(super) turns: u64,
    pub(super) concurrency: u64,
    pub(super) warmup: u64,
    pub(super) items: usize,
    pub(super) threads: usize,
}

/// Task of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Turns,
    Prep,
    Resume,
}

impl Arguments {
    /// Reads the arguments; absent ones have defaults.
    ///
    /// # Errors
    /// When a known argument has a value that makes no sense.
    pub(super) fn parse(words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let given = pairs(words);
        let text = |name: &str, default: &str| {
            given.get(name).cloned().unwrap_or_else(|| default.to_owned())
        };
        let number = |name: &str, default: u64| match given.get(name) {
            None => Ok(default),
            Some(value) => {
                value.parse().map_err(|_| anyhow::anyhow!("--{name} {value}: use a number"))
            }
        };
        let mode = match text("mode", "turns").as_str() {
            "turns" => Mode::Turns,
            "prep" => Mode::Prep,
            "resume" => Mode::Resume,
            other => anyhow::bail!("--mode {other}: use turns, prep or resume"),
        };
        let api = match text("api", "chat").as_str() {
            "chat" => Api::Chat,
            "responses" => Api::Responses,
            other => anyhow::bail!("--api {other}: use chat or responses"),
        };
        Ok(Self {
            base_url: text("base-url", "http://127.0.0.1:8080/v1"),
            model: text("model", "text-1"),
            dir: text("dir", "."),
            store: text("store", "none"),
            mode,
            api,
            turns: number("turns", 1)?,
            concurrency: number("concurrency", 1)?.clamp(1, 1_000_000),
            warmup: number("warmup", 0)?,
            items: usize::try_from(number("items", 10_000)?)?,
            threads: usize::try_from(number("threads", 1)?)?,
        })
    }

    /// Returns true when each delta is the time at which the model sent it.
    pub(super) fn paced(&self) -> bool {
        self.model.starts_with("pace-")
    }
}

/// `--name value` pairs; a name without a value has an empty one.
fn pairs(words: impl Iterator<Item = String>) -> BTreeMap<String, String> {
    let mut given = BTreeMap::new();
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if let Some(name) = word.strip_prefix("--") {
            let value = words.next_if(|next| !next.starts_with("--"));
            given.insert(name.to_owned(), value.unwrap_or_default());
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> anyhow::Result<Arguments> {
        Arguments::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn known_arguments_count_and_unknown_ones_do_not() {
        let arguments =
            parse("--new --model pace-5-10 --other x --turns 7 --store sled --mode prep").unwrap();
        assert_eq!((arguments.turns, arguments.warmup, arguments.concurrency), (7, 0, 1));
        assert_eq!((arguments.store.as_str(), arguments.mode), ("sled", Mode::Prep));
        assert!(arguments.paced());
    }

    #[test]
    fn a_value_that_makes_no_sense_is_named() {
        let error = parse("--items -3").unwrap_err();
        assert_eq!(error.to_string(), "--items -3: use a number");
        let error = parse("--api soap").unwrap_err();
        assert_eq!(error.to_string(), "--api soap: use chat or responses");
    }
}
