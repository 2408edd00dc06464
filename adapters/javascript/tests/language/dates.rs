//! Dates and random numbers: one time, in UTC, and a sequence that follows from the seed. The time of these
//! programs is 2026-11-26 06:00:00.250.

use crate::{fault, value};

#[test]
fn the_time_is_that_of_the_world_and_stands_still() {
    for (source, meant) in [
        ("Date.now()", "1795672800250"),
        ("new Date().getTime()", "1795672800250"),
        ("new Date()", "\"2026-11-26T06:00:00.250Z\""),
        ("Date()", "\"Thu Nov 26 2026 06:00:00 GMT+0000 (Coordinated Universal Time)\""),
        ("const t = Date.now(); for (let n = 0; n < 1e5; n++); Date.now() - t", "0"),
        ("new Date() - new Date(Date.now() - 86400000)", "86400000"),
        ("await tools.look({ at: new Date() })", "{\"at\":\"2026-11-26T06:00:00.250Z\"}"),
        ("memory.at = new Date(); memory.at", "\"2026-11-26T06:00:00.250Z\""),
        ("typeof new Date().valueOf() + typeof Date.prototype + Date.length", "\"numberobject7\""),
    ] {
        assert_eq!(value(source), meant, "{source}");
    }
}

#[test]
fn local_time_is_utc() {
    for (source, meant) in [
        ("new Date(2024, 1, 29, 12, 30, 5, 7)", "\"2024-02-29T12:30:05.007Z\""),
        ("new Date(2024, 1, 31)", "\"2024-03-02T00:00:00.000Z\""),
        ("new Date(99, 0).getFullYear()", "1999"),
        ("new Date(0)", "\"1970-01-01T00:00:00.000Z\""),
        ("new Date('2024-01-02T03:04').getTime() === Date.UTC(2024, 0, 2, 3, 4)", "true"),
        ("new Date('Jan 2, 2024 3:04 PM')", "\"2024-01-02T15:04:00.000Z\""),
        ("Date.parse('2024-01-02')", "1704153600000"),
        ("new Date(new Date(5)).getTime()", "5"),
        ("new Date({ valueOf: () => 6 }).getTime()", "6"),
        ("new Date({ toString: () => '2024' }).getTime()", "1704067200000"),
        ("new Date(null).getTime() + new Date(true).getTime()", "1"),
        ("String(new Date('no'))", "\"Invalid Date\""),
        ("[new Date(undefined), Date.parse('no'), new Date(NaN).getHours()]", "[null,null,null]"),
        (
            "const d = new Date(); [d.getFullYear(), d.getMonth(), d.getDate(), d.getDay()]",
            "[2026,10,26,4]",
        ),
        (
            "const d = new Date(); [d.getHours(), d.getMinutes(), d.getSeconds(), d.getMilliseconds()]",
            "[6,0,0,250]",
        ),
        ("new Date().getTimezoneOffset()", "0"),
        (
            "const d = new Date(0); d.setFullYear(2024, 1, 29); d.setHours(25, 1); d",
            "\"2024-03-01T01:01:00.000Z\"",
        ),
        (
            "const d = new Date(0); d.setDate(d.getDate() + 31); d.toISOString()",
            "\"1970-02-01T00:00:00.000Z\"",
        ),
        (
            "const d = new Date(0); d.setMonth(1); d.setMinutes(1); d.setSeconds(2); d.setMilliseconds(3)",
            "2678462003",
        ),
        ("const d = new Date(0); d.setTime(9); d.setUTCHours(1); +d", "3600009"),
        (
            "new Date(0).toDateString() + '|' + new Date(0).toTimeString()",
            "\"Thu Jan 01 1970|00:00:00 GMT+0000 (Coordinated Universal Time)\"",
        ),
        ("new Date(0).toUTCString()", "\"Thu, 01 Jan 1970 00:00:00 GMT\""),
        ("new Date().toLocaleString()", "\"11/26/2026, 6:00:00 AM\""),
        ("new Date(2024, 0, 2, 0, 5).toLocaleTimeString('en-US')", "\"12:05:00 AM\""),
        ("new Date(2024, 0, 2).toLocaleDateString()", "\"1/2/2024\""),
        (
            "`${new Date(0)}` === String(new Date(0)) && new Date(0) + '' === Date.prototype.toString.call(new Date(0))",
            "true",
        ),
        ("new Date(2024, 0) < new Date(2024, 1)", "true"),
        ("JSON.stringify({ a: new Date(0) })", "\"{\\\"a\\\":\\\"1970-01-01T00:00:00.000Z\\\"}\""),
        (
            "class Day extends Date { get name() { return this.getDay(); } }\nconst d = new Day(0); [d.name, d instanceof Date, d.getTime()]",
            "[4,true,0]",
        ),
        ("[new Date().constructor === Date, new Date() instanceof Date]", "[true,true]"),
        ("new Date(8.64e15 + 1).getTime()", "null"),
    ] {
        assert_eq!(value(source), meant, "{source}");
    }
    let fault = fault("new Date().toLocaleDateString('de-DE', { month: 'long' })");
    assert!(fault.message.contains("toISOString()"), "{fault}");
}

#[test]
fn random_numbers_follow_from_the_seed() {
    let source = "[Math.random(), Math.random()]";
    let [one, other]: [f64; 2] = serde_json::from_str(&value(source)).unwrap();
    assert_ne!(one, other);
    assert_eq!(value(source), value(source));
    let source = "const n = Array.from({ length: 1000 }, Math.random);
        [n.every(x => x >= 0 && x < 1), Math.round(n.reduce((a, b) => a + b) / 100)]";
    assert_eq!(value(source), "[true,5]");
}
