//! The guide to hooks has a row for each point, with the properties that the core has.

#![expect(clippy::unwrap_used, reason = "it is all test code")]

use serde_json::Value;
use windlass_core::{ContextLifetime, ContextUse, DenialEffect, Editable, HookPoint};

const GUIDE: &str = include_str!("../../docs/hooks.md");

/// The cells of a row of the guide.
fn row(point: HookPoint) -> Vec<&'static str> {
    let Value::String(name) = serde_json::to_value(point).unwrap() else { unreachable!() };
    let start = format!("| `{name}` |");
    let rows: Vec<&str> = GUIDE.lines().filter(|line| line.starts_with(&start)).collect();
    assert_eq!(rows.len(), 1, "rows of {name} in docs/hooks.md");
    rows[0].trim_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn each_point_is_described_as_it_is() {
    for point in HookPoint::ALL {
        let properties = point.properties();
        let denial = match properties.denial {
            DenialEffect::Ignored => "none",
            DenialEffect::BlocksInput => "blocks the input",
            DenialEffect::EndsTurn => "ends the turn",
            DenialEffect::DeniesCall => "denies the call",
            DenialEffect::Answers => "the model reads the reason",
        };
        let edits = match properties.edits {
            Editable::Nothing => "nothing",
            Editable::Prompt => "the prompt",
            Editable::Arguments => "the arguments",
        };
        let lasts = match properties.lifetime {
            ContextLifetime::Turn => "until compacted",
            ContextLifetime::Session => "kept by compactions",
        };
        let context = match properties.context {
            ContextUse::Dropped => String::from("none"),
            ContextUse::UnlessDenied => format!("unless denied, {lasts}"),
            ContextUse::Always => format!("always, {lasts}"),
        };
        let row = row(*point);
        assert_eq!(row.len(), 7, "{row:?}");
        assert_eq!(row[4..], [denial, edits, &context], "{}", row[0]);
    }
    let rows =
        GUIDE.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 8);
    assert_eq!(rows.count(), HookPoint::ALL.len(), "points that there are not");
}
