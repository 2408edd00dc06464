//! The sum of what one observer of a session heard: each character once and in order, or a lag
//! was told before the gap shows.
//!
//! It reads envelopes, so that one check holds for every kind of observer: a stream of the engine,
//! `run --json` and `attach --json`, server-sent events and WebSockets.

use std::collections::BTreeMap;

use serde_json::Value;

/// Adds up one observer's live text and compares it with the items of the log. The parts of an
/// answer must stream one after the other, and each must become an item.
#[derive(Debug, Clone, Default)]
pub struct HeardSum {
    /// Live text since the last lag, by run and slot.
    texts: BTreeMap<(u64, u64), String>,
    /// Items of each run so far.
    items: BTreeMap<u64, u64>,
    /// The last run that is over.
    over: u64,
    last: u64,
    /// Number of lags.
    pub lags: usize,
    /// Number of items that it heard as live text to the end.
    pub whole: usize,
    /// Number of items that it got from the log alone, because it lagged.
    pub missed: usize,
}

impl HeardSum {
    /// Takes the next envelope: a fact, a live event, or `Lagged`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(&mut self, envelope: &Value) -> Result<(), String> {
        let body = &envelope["body"];
        match (envelope["seq"].as_u64(), envelope["kind"].as_str().unwrap_or_default()) {
            (None, "Lagged") => self.lagged(),
            (None, "CallProgress") => {}
            (None, kind) => {
                let text = body["text"].as_str().or(body["name"].as_str());
                let part = body["started"].as_u64().zip(body["slot"].as_u64());
                let (Some(part), Some(text)) = (part, text) else {
                    return Err(format!("{kind} is no delta: {envelope}"));
                };
                self.delta(part, text)?;
            }
            (Some(seq), kind) => {
                if self.last > 0 && seq != self.last.saturating_add(1) {
                    return Err(format!("fact {seq} follows fact {}", self.last));
                }
                self.last = seq;
                self.fact(kind, body)?;
            }
        }
        Ok(())
    }

    /// Takes the word that the observer lagged: live text begins again.
    pub fn lagged(&mut self) {
        self.texts.clear();
        self.lags = self.lags.saturating_add(1);
    }

    fn delta(&mut self, (started, slot): (u64, u64), text: &str) -> Result<(), String> {
        let items = self.items.get(&started).copied().unwrap_or(0);
        if started <= self.over || slot < items {
            let after = self.last;
            return Err(format!("{text:?} of part {started}.{slot} is stale after fact {after}"));
        }
        self.texts.entry((started, slot)).or_default().push_str(text);
        Ok(())
    }

    fn fact(&mut self, kind: &str, body: &Value) -> Result<(), String> {
        let Some(started) = body["started"].as_u64() else {
            return Ok(());
        };
        match kind {
            "ItemAdded" => {
                let slot = self.items.entry(started).or_default();
                let part = (started, *slot);
                *slot = slot.saturating_add(1);
                self.item(part, &text(&body["item"]))
            }
            "SampleEnded" | "SampleCut" => {
                self.over = started;
                self.texts.retain(|(run, _), _| *run > started);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn item(&mut self, part: (u64, u64), text: &str) -> Result<(), String> {
        match self.texts.remove(&part) {
            Some(heard) if heard == text => self.whole = self.whole.saturating_add(1),
            Some(heard) => {
                let (has, is) = (heard.len(), text.len());
                let begins = if text.starts_with(&heard) { "begin with" } else { "differ from" };
                return Err(format!(
                    "the {is} bytes of item {part:?} {begins} the {has} heard, and no lag was told"
                ));
            }
            None if self.lags > 0 || text.is_empty() => {
                self.missed = self.missed.saturating_add(1);
            }
            None => return Err(format!("nothing of item {part:?} was heard, and no lag was told")),
        }
        Ok(())
    }
}

/// The text of an item, as its deltas add up to it.
fn text(item: &Value) -> String {
    let word = |name: &str| item[name].as_str().unwrap_or_default();
    match word("type") {
        "call" => format!("{}{}", word("name"), word("arguments")),
        _ => word("text").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn delta(slot: u64, text: &str) -> Value {
        json!({"seq": null, "kind": "TextDelta", "body": {"started": 4, "slot": slot, "text": text}})
    }

    fn item(seq: u64, text: &str) -> Value {
        let item = json!({"type": "text", "text": text});
        json!({"seq": seq, "kind": "ItemAdded", "body": {"started": 4, "item": item}})
    }

    fn lag() -> Value {
        json!({"seq": null, "kind": "Lagged", "body": {"missed": 1, "after": 4}})
    }

    fn sum(all: &[Value]) -> Result<HeardSum, String> {
        let mut sum = HeardSum::default();
        all.iter().try_for_each(|one| sum.take(one))?;
        Ok(sum)
    }

    #[test]
    fn what_adds_up_is_counted() {
        let all =
            [delta(0, "a"), delta(0, "b"), item(5, "ab"), delta(1, "c"), lag(), item(6, "cd")];
        let heard = sum(&all).unwrap();
        assert_eq!((heard.whole, heard.missed, heard.lags), (1, 1, 1));
        let again = [delta(0, "a"), lag(), delta(0, "ab"), delta(0, "c"), item(5, "abc")];
        assert_eq!(sum(&again).unwrap().whole, 1);
    }

    #[test]
    fn what_does_not_add_up_is_said() {
        for (all, words) in [
            (vec![delta(0, "a"), item(5, "ab")], "begin with"),
            (vec![delta(0, "a"), delta(0, "ab"), item(5, "ab")], "differ from"),
            (vec![item(5, "ab")], "nothing of item"),
            (vec![delta(0, "ab"), item(5, "ab"), delta(0, "c")], "stale"),
            (vec![item(5, ""), item(7, "")], "follows"),
        ] {
            let said = sum(&all).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
    }
}
