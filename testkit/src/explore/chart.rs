//! The state chart, drawn from a reviewed table: three diagrams and a matrix, as Markdown.
//!
//! A search shows that the table is what was taken, so the chart is, too. The diagrams leave out
//! what would hide the rest: ways that stay in their room, refusals, and whether hooks are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::table::{Row, Table};
use crate::world::{Room, Told};

/// What stands above the chart.
const HEAD: &str = "\
# State chart

What a session does, as the test kit's search took it: `cargo xtask explore` goes through every
state of bounded worlds and holds what it takes against `testkit/explore/reviewed.txt`, and
`cargo xtask diagram` draws this page from that table. Do not edit it.

A *room* is the stage of the open turn, or how a session rests without one (`idle`, and `held`: what
waits needs a user's word). `calling` is a sample that has brought calls and still streams; `asking`
is a turn that executes calls while a person is asked about one. An arrow is labelled with what
the session is told. It stands for all that is decided at once, so `idle` to `sampling` passes
`opening` and `ready` without stopping there. Whether hooks are asked is in the table alone.

";

/// Draws the chart of a table, as a page of Markdown.
#[must_use]
pub fn chart(table: &Table) -> String {
    let ways: Vec<Way<'_>> = table.rows().keys().map(Way::of).collect();
    let mut page = String::from(HEAD);
    let on = |way: &&Way<'_>| way.moves() && way.told != RECOVERED;
    let going = ways.iter().filter(on);
    diagram(
        &mut page,
        "How a turn goes",
        "No stop was asked for, or only one before the model is asked again.",
        going.filter(|way| way.from.course != STOPPING && way.course_after() != Some(STOPPING)),
    );
    let going = ways.iter().filter(on);
    diagram(
        &mut page,
        "How a turn stops",
        "The turn is asked to stop now, and winds down what runs.",
        going.filter(|way| way.from.course == STOPPING || way.course_after() == Some(STOPPING)),
    );
    let recovered = ways.iter().filter(|way| way.moves() && way.told == RECOVERED);
    diagram(
        &mut page,
        "How a new process goes on",
        "The process that drove the session has died, and another one took it over.",
        recovered,
    );
    matrix(&mut page, &ways);
    page
}

const STOPPING: &str = "stopping";
const RECOVERED: &str = "recovered";

/// Position of a session, in words: `[COURSE] ROOM [at hooks]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot<'a> {
    course: &'a str,
    room: &'a str,
}

impl<'a> Spot<'a> {
    fn of(place: &'a str) -> Self {
        let place = place.strip_suffix(" at hooks").unwrap_or(place);
        let (course, room) = place.rsplit_once(' ').unwrap_or(("", place));
        Self { course, room }
    }

    /// The name of its node: stops have nodes of their own.
    fn node(self) -> String {
        match self.course {
            STOPPING => format!("{STOPPING}_{}", self.room),
            _ => self.room.to_owned(),
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
struct Way<'a> {
    from: Spot<'a>,
    told: &'a str,
    /// Where it leads; `None` where nothing is recorded.
    to: Option<Spot<'a>>,
    refused: bool,
}

impl<'a> Way<'a> {
    fn of(row: &'a Row) -> Self {
        Self {
            from: Spot::of(&row.place),
            told: &row.told,
            to: row.then.strip_prefix("to ").map(Spot::of),
            refused: row.then.starts_with("refused "),
        }
    }

    /// Returns true if it leads to another node.
    fn moves(&self) -> bool {
        self.to.is_some_and(|to| to.node() != self.from.node())
    }

    fn course_after(&self) -> Option<&'a str> {
        self.to.map(|to| to.course)
    }
}

fn diagram<'a>(
    page: &mut String,
    title: &str,
    about: &str,
    ways: impl Iterator<Item = &'a Way<'a>>,
) {
    let mut arrows: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for way in ways {
        let Some(to) = way.to else { continue };
        let arrow = (way.from.node(), to.node());
        arrows.entry(arrow).or_default().insert(way.told);
    }
    // Writing to a string does not fail.
    let _: std::fmt::Result =
        write!(page, "## {title}\n\n{about}\n\n```mermaid\nstateDiagram-v2\n");
    for ((from, to), told) in arrows {
        let told: Vec<&str> = in_order(&told);
        let _: std::fmt::Result = writeln!(page, "    {from} --> {to}: {}", told.join(", "));
    }
    page.push_str("```\n\n");
}

/// Words for inputs, in the order of the inputs.
fn in_order<'a>(told: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let place = |word: &&str| Told::ALL.iter().position(|told| told.word() == *word);
    let mut told: Vec<&str> = told.iter().copied().collect();
    told.sort_by_key(place);
    told
}

/// Which inputs are possible where.
fn matrix(page: &mut String, ways: &[Way<'_>]) {
    page.push_str(
        "## What may be said where\n\n`go`: it leads to another room. `stay`: something is recorded, and the \
         room stays. `nil`: nothing\nis recorded. `no`: it is refused. Several of them: it depends on more \
         than the room. Empty: it\ncannot come about there, or no bounded world of the kit shows it.\n\n",
    );
    let rooms: Vec<&str> = Room::all().map(Room::word).collect();
    let known: BTreeSet<&str> = ways.iter().map(|way| way.from.room).collect();
    let rooms: Vec<&str> = rooms.into_iter().filter(|room| known.contains(room)).collect();
    let _: std::fmt::Result = writeln!(page, "| | {} |", rooms.join(" | "));
    let _: std::fmt::Result = writeln!(page, "|{}", "---|".repeat(rooms.len() + 1));
    for told in Told::ALL {
        let cells = rooms.iter().map(|room| cell(ways, room, told.word()));
        let cells: Vec<String> = cells.collect();
        let _: std::fmt::Result = writeln!(page, "| {} | {} |", told.word(), cells.join(" | "));
    }
}

fn cell(ways: &[Way<'_>], room: &str, told: &str) -> String {
    let here = || {
        let ways = ways.iter();
        ways.filter(|way| way.from.room == room && way.told == told)
    };
    let stays = |way: &Way<'_>| way.to.is_some() && !way.moves();
    let words = [
        ("go", here().any(Way::moves)),
        ("stay", here().any(stays)),
        ("nil", here().any(|way| way.to.is_none() && !way.refused)),
        ("no", here().any(|way| way.refused)),
    ];
    let words = words.into_iter().filter(|(_, is)| *is);
    let words: Vec<&str> = words.map(|(word, _)| word).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_shows_where_ways_lead() {
        let table = "idle | send | to sampling | InputQueued\n\
                     idle | continue | refused NothingWaits\n\
                     sampling | sampled end | to idle\n\
                     pausing sampling | sampled end | to held\n\
                     sampling | sampled item | to sampling\n\
                     sampling | interrupt now | to stopping sampling\n\
                     stopping sampling | tick | to held\n\
                     backoff at hooks | recovered | to sampling";
        let chart = chart(&table.parse().unwrap());
        for line in [
            "    idle --> sampling: send\n",
            "    sampling --> held: sampled end\n",
            "    sampling --> idle: sampled end\n",
            "    sampling --> stopping_sampling: interrupt now\n",
            "    stopping_sampling --> held: tick\n",
            "    backoff --> sampling: recovered\n",
            "| continue | no |",
            "| sampled item |  | stay |",
        ] {
            assert!(chart.contains(line), "{line:?} is not in {chart}");
        }
        assert_eq!(chart.matches("```mermaid").count(), 3);
    }
}
