//! `sintonia tunlets`: says what the built-in tunlets do, and what they need in a description.
//!
//! # Not here
//! Texts about tunlets (`tunlets`), and tunlets in libraries: each comes with its own text.

use anyhow::bail;
use clap::Args;
use display::text::wrap;
use serde_json::{Value, json};
use std::process::ExitCode;
use tunlets::{EventNeed, Guide, TunletSpec, built_in_guides};
use user_io::terminal::Terminal;

/// Longest line, in columns.
const N_COLUMNS_MAX: usize = 100;

const EXAMPLES: &str = "\
Examples:
  sintonia tunlets
  sintonia tunlets factoring
  sintonia tunlets --json | jq -r '.[].name'

A tunlet finds events, attributes and tuning points by these names; APP.toml binds them to the
functions and variables of your program; those of `sintonia run --tune` need none. A program
of the master-worker library carries its description. `sintonia new-tunlet` makes a tunlet of your own.";

/// List the built-in tunlets, or show all about one
///
/// Shows for each: the performance problem it is about, what it does, which events and tuning points APP.toml has to
/// describe for it, and its options.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Show only this tunlet, with everything about it
    name: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Lists the built-in tunlets.
pub(crate) fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let all = built_in_guides();
    let text = match &options.name {
        None if options.json => {
            let all: Vec<Value> = all.iter().map(|(spec, guide)| as_json(spec, guide)).collect();
            format!("{:#}\n", Value::from(all))
        }
        None => list(&all),
        Some(name) => {
            let Some((spec, guide)) = all.iter().find(|(spec, _)| spec.name == *name) else {
                let names: Vec<&str> = all.iter().map(|(spec, _)| spec.name.as_str()).collect();
                bail!("there is no tunlet `{name}`; there are {}", names.join(", "));
            };
            let as_json = || format!("{:#}\n", as_json(spec, guide));
            if options.json { as_json() } else { details(spec, guide) }
        }
    };
    user_io::print::result(&text)
}

/// Sentence about a tunlet: its problem and its remedy.
fn sentence(spec: &TunletSpec, guide: &Guide) -> String {
    format!("{}: it {}", spec.problem, guide.remedy)
}

fn list(all: &[(TunletSpec, Guide)]) -> String {
    let width = all.iter().map(|(spec, _)| spec.name.len()).max().unwrap_or_default();
    let one = |(spec, guide): &(TunletSpec, Guide)| {
        let options: Vec<&str> = spec.options.iter().map(|(name, _)| name.as_str()).collect();
        let texts = [
            sentence(spec, guide),
            format!("needs: {}", needs(guide)),
            format!("options: {}", options.join(", ")),
        ];
        let rest = texts[1..].iter().map(|text| row("", width, text)).collect::<String>();
        row(&spec.name, width, &texts[0]) + &rest
    };
    let all: Vec<String> = all.iter().map(one).collect();
    format!("{}\n`sintonia tunlets NAME` describes one in full.\n", all.join("\n"))
}

/// Names of the events and tuning points that have to be described.
fn needs(guide: &Guide) -> String {
    let events = guide.events.iter().map(|event| {
        let note = if event.is_needed { "" } else { " (better with it)" };
        format!("{}{note}", event.name)
    });
    let points = guide.points.iter().map(|point| point.name.to_owned());
    let (events, points) = (events.collect::<Vec<_>>(), points.collect::<Vec<_>>());
    let needed = [("events", events), ("tuning points", points)];
    let needed = needed.iter().filter(|(_, names)| !names.is_empty());
    let needed: Vec<_> =
        needed.map(|(what, names)| format!("{what} {}", names.join(", "))).collect();
    match needed.as_slice() {
        [] => "no events; tuning points of your choice".to_owned(),
        needed => needed.join("; "),
    }
}

fn details(spec: &TunletSpec, guide: &Guide) -> String {
    let name = &spec.name;
    let mut text = row(name, name.len(), &sentence(spec, guide));
    text += &section("[iteration] in APP.toml", &[(String::new(), guide.iteration.to_owned())]);
    let events = guide.events.iter().map(|event| (event.name.to_owned(), about(event)));
    text += &section("[[event]] in APP.toml", &events.collect::<Vec<_>>());
    let points = guide.points.iter().map(|it| (it.name.to_owned(), it.meaning.to_owned()));
    text += &section("[[tuning_point]] in APP.toml", &points.collect::<Vec<_>>());
    text += &section(&format!("options, in [tunlet.{name}] of APP.toml"), &spec.options);
    format!("{text}\nsintonia run --app APP.toml --tunlet {name} -- COMMAND\n")
}

/// Place of an event, and its attributes.
fn about(event: &EventNeed) -> String {
    let attributes = [(event.attributes, "attributes"), (event.more_attributes, "better with")];
    let named = attributes.iter().filter(|(names, _)| !names.is_empty());
    let named = named.map(|(names, what)| format!("; {what} {}", names.join(", ")));
    let note = if event.is_needed { "" } else { "; may be left out" };
    format!("{}{}{note}", event.place, named.collect::<String>())
}

/// Title with its rows; empty without rows.
fn section(title: &str, rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let one = |(name, text): &(String, String)| {
        let name = format!("  {name}");
        row(&name, width + 2, text)
    };
    let rows: String = rows.iter().map(one).collect();
    if rows.is_empty() { rows } else { format!("\n{title}:\n{rows}") }
}

/// Name with a text beside it, in lines of at most [`N_COLUMNS_MAX`].
fn row(name: &str, width: usize, text: &str) -> String {
    let gap = if name.trim().is_empty() && width <= 2 { "" } else { "  " };
    let indent = width + gap.len();
    let lines = wrap(text, N_COLUMNS_MAX - indent);
    format!("{name:<width$}{gap}{}\n", lines.join(&format!("\n{:indent$}", "")))
}

fn as_json(spec: &TunletSpec, guide: &Guide) -> Value {
    let option = |(name, meaning): &(String, String)| json!({ "name": name, "meaning": meaning });
    json!({
        "name": spec.name,
        "problem": spec.problem,
        "remedy": guide.remedy,
        "iteration": guide.iteration,
        "events": guide.events,
        "points": guide.points,
        "options": spec.options.iter().map(option).collect::<Vec<_>>(),
    })
}
