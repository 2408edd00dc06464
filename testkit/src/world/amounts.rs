//! Amounts as transcripts spell them: tokens and money, spent or set aside.

use windlass_core::{BudgetUsage, Reservation, Usage};

pub(super) fn budget(what: &str, took: BudgetUsage) -> String {
    let tokens = match took.tokens {
        0 => String::new(),
        tokens => format!(", {tokens} tokens"),
    };
    let money = money(", cost ", took.cost_micros);
    format!("{what}{} samples{tokens}{money}", took.samples)
}

pub(super) fn set_aside(reserved: Reservation) -> String {
    let tokens = match reserved.tokens {
        0 => String::new(),
        tokens => format!(", {tokens} tokens set aside"),
    };
    format!("{tokens}{}", money(", money set aside: ", reserved.cost_micros))
}

pub(super) fn estimated(estimate: Option<Reservation>) -> String {
    let estimate = estimate.unwrap_or_default();
    let tokens = match estimate.tokens {
        0 => String::new(),
        tokens => format!(", about {tokens} tokens"),
    };
    format!("{tokens}{}", money(", about money: ", estimate.cost_micros))
}

pub(super) fn lost(reserved: Reservation) -> String {
    set_aside(reserved).replace("set aside", "lost")
}

pub(super) fn money(before: &str, micros: u64) -> String {
    match micros {
        0 => String::new(),
        micros => format!("{before}{micros}"),
    }
}

pub(super) fn tokens(usage: Option<Usage>) -> String {
    usage.map_or(String::new(), |usage| format!(", {} tokens", usage.tokens()))
}
