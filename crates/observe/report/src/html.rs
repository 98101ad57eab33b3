//! Report as one self-contained HTML file: no network, no other file, and JavaScript only for zooming the
//! timeline, sorting tables and reading values under the pointer.
//!
//! # Invariants
//! - All data from the run are escaped, in text, in attributes and in data for scripts.
//! - The page's own policy forbids it to load anything.
//! - Tables and pictures are bounded, and say what they leave out.

mod dealt;
mod flame;
mod lanes;
mod matrix;
mod packed;
mod ranks;
mod resizes;
mod sizes;
mod tuning;

use crate::efficiency::{Term, grade, terms};
use crate::resizes::program_of;
use crate::sampled::sampled;
use crate::tables::{self, Listing, Medium};
use crate::terminal::{NO_MPI, command, kept, losses, outcome_tone, outcome_words, price};
use crate::timeline::Timeline;
use crate::{place, ranking, svg};
use dealing_report::DealingReport;
use display::table::{Align, Cell, Table};
use display::text::harmless;
use display::units::{moment, percent, plural, seconds};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use resize_api::Resize;
use run_record::{SampleRow, Summary};

const STYLE: &str = include_str!("../assets/page.css");
/// Scripts in execution order: each uses only earlier ones.
const SCRIPTS: [&str; 10] = [
    include_str!("../assets/page.js"),
    include_str!("../assets/packed.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/matrix.js"),
    include_str!("../assets/flame.js"),
    include_str!("../assets/lane.js"),
    include_str!("../assets/view.js"),
    include_str!("../assets/painter.js"),
    include_str!("../assets/timeline.js"),
    include_str!("../assets/start.js"),
];
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// Returns the page of a run, with a timeline if it was traced, and without its samples.
#[must_use]
pub fn page(summary: &Summary, timeline: Option<&Timeline>) -> String {
    page_with_samples(summary, timeline, &[])
}

/// Returns the page of a run, with a timeline if it was traced, and a flame graph if it was sampled.
#[must_use]
pub fn page_with_samples(
    summary: &Summary,
    timeline: Option<&Timeline>,
    samples: &[SampleRow],
) -> String {
    let title = format!("Sintonia: {}", command(summary));
    document(&title, &sections(summary, timeline, samples))
}

/// Returns the page about the work dealt by a master, as recorded by the program `name`.
#[must_use]
pub fn dealt(dealt: &DealingReport, name: &str) -> String {
    page_of_program(name, &dealt::draw(Some(dealt)))
}

/// Returns the page about the resizes of a malleable program, as recorded in the folder `name`.
#[must_use]
pub fn resizes(resizes: &[Resize], name: &str) -> String {
    page_of_program(name, &resizes::draw(resizes, None))
}

fn page_of_program(name: &str, section: &Markup) -> String {
    let content = html! { h1 { code { (harmless(name)) } } (section) };
    document(&format!("Sintonia: {name}"), &content)
}

fn document(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main { (content) }
                script { (PreEscaped(script())) }
            }
        }
    };
    page.into_string()
}

fn sections(summary: &Summary, timeline: Option<&Timeline>, samples: &[SampleRow]) -> Markup {
    html! {
        (header(summary))
        @if !summary.ranks.is_empty() {
            (efficiencies(summary))
            (draw_findings(summary))
            (tuning::draw(summary))
            (dealt::draw(summary.dealt.as_ref()))
            (resizes::draw(&summary.resizes, program_of(summary)))
            @if let Some(timeline) = timeline { (lanes::draw(summary, timeline)) }
            (ranks::draw(summary))
            @for table in tables::all(summary, Medium::Page) { (listing(&table)) }
            (flame::draw(samples))
            (sizes::draw(summary))
            (matrix::draw(summary))
        }
        (cost(summary))
    }
}

/// Returns all scripts in a scope of their own.
fn script() -> String {
    format!("(() => {{\n'use strict';\n{}\n}})();", SCRIPTS.join("\n"))
}

/// Formats JSON for a script element, with `<` escaped so that no name can end the element.
fn json(value: &serde_json::Value) -> PreEscaped<String> {
    PreEscaped(value.to_string().replace('<', "\\u003c"))
}

/// Returns a section with a title and a note beside it.
fn section(id: &str, title: &str, note: &str, content: &Markup) -> Markup {
    html! {
        section id=(id) {
            h2 { (title) @if !note.is_empty() { " " small { (note) } } }
            (content)
        }
    }
}

/// Returns the section of a table.
fn listing(listing: &Listing) -> Markup {
    let content = html! {
        (draw_table(&listing.table, ""))
        (rest(listing.n_rows, listing.table.rows().len()))
        @for remark in &listing.remarks { p.note { (remark) } }
    };
    section(listing.id, listing.title, listing.note, &content)
}

/// Returns a line with the number of items not among the first `n_shown` of `n`.
fn rest(n: usize, n_shown: usize) -> Markup {
    html! {
        @if n > n_shown { p.note { "… and " (n - n_shown) " more, in the run record." } }
    }
}

fn cost(summary: &Summary) -> Markup {
    let tool = &summary.tool;
    if summary.ranks.is_empty() && tool.warnings.is_empty() {
        return html! {};
    }
    let content = html! {
        @if !summary.ranks.is_empty() { p { (price(tool)) "." } p { (kept(tool)) "." } }
        @if let Some(sampled) = sampled(summary) { p { (sampled) "." } }
        @for loss in losses(tool) { p.warning { (loss) "." } }
        @for warning in &tool.warnings { p.warning { (harmless(warning)) } }
    };
    section("cost", "Cost of observing", "", &content)
}

/// Draws a table; its rows are the ids that links lead to, or empty.
fn draw_table(table: &Table<String>, class: &str) -> Markup {
    html! {
        table class={ "sortable " (class) } {
            thead { tr { @for column in table.columns() { th class=(title_class(column.align)) { (column.title) } } } }
            tbody {
                @for (row, id) in table.rows().iter().enumerate() {
                    tr id=[(!id.is_empty()).then_some(id)] {
                        @for column in table.columns() { (draw_cell(column.align, &column.cells[row])) }
                    }
                }
            }
        }
    }
}

/// Draws a table of some of `n_rows` rows, without links to them.
fn draw_some<R>(table: Table<R>, class: &str, n_rows: usize) -> Markup {
    let table = table.with_rows(|_| String::new());
    html! { (draw_table(&table, class)) (rest(n_rows, table.rows().len())) }
}

fn title_class(align: Align) -> &'static str {
    match align {
        Align::Left | Align::Name => "",
        Align::Right => "number",
        Align::Spark => "fixed",
        Align::Bar => "wide fixed",
    }
}

fn draw_cell(align: Align, cell: &Cell) -> Markup {
    let hint = (!cell.hint.is_empty()).then_some(&cell.hint);
    let grade = cell.tone.grade();
    html! {
        @match align {
            Align::Left => td class=(grade) data-value=[cell.value] title=[hint] { (cell.text) }
            Align::Name => td.name title=(hint.unwrap_or(&cell.text)) { code { (cell.text) } }
            Align::Right => td class={ "number " (grade) } data-value=[cell.value] { (cell.text) }
            Align::Spark => td { (PreEscaped(&cell.text)) }
            Align::Bar => td.wide title=[hint] { (PreEscaped(&cell.text)) }
        }
    }
}

const N_CUT_SHORT_MAX: usize = 32;

fn header(summary: &Summary) -> Markup {
    let outcome = &summary.outcome;
    html! {
        header {
            p.eyebrow {
                "Sintonia " (harmless(&summary.sintonia_version))
                @if summary.started_s > 0.0 { " · " (moment(summary.started_s)) }
                " · " span class=(outcome_tone(outcome).grade()) { (outcome_words(outcome)) }
            }
            h1 { code { (command(summary)) } }
            @if summary.ranks.is_empty() {
                p.warning { (NO_MPI) }
            } @else {
                p.note { (harmless(&summary.mpi)) }
                (facts(summary))
            }
        }
        (cut_short(summary))
        @if summary.worlds.len() > 1 { (listing(&tables::worlds(summary, Medium::Page))) }
    }
}

fn facts(summary: &Summary) -> Markup {
    let grade = grade(summary.pop.parallel_efficiency).grade();
    let facts = [
        ("parallel efficiency", percent(summary.pop.parallel_efficiency), grade),
        ("in MPI programs", seconds(summary.elapsed_s), ""),
        ("in all", seconds(summary.wall_s), ""),
        (if summary.n_ranks == 1 { "rank" } else { "ranks" }, summary.n_ranks.to_string(), ""),
        (if summary.n_nodes == 1 { "node" } else { "nodes" }, summary.n_nodes.to_string(), ""),
    ];
    html! {
        dl.facts {
            @for (name, value, class) in facts { div { dd class=(class) { (value) } dt { (name) } } }
        }
    }
}

fn cut_short(summary: &Summary) -> Markup {
    let ranks = ranking::cut_short(summary);
    html! {
        @if !ranks.is_empty() {
            div.warning {
                p { (plural(ranks.len(), "rank")) " did not finish:" }
                ul {
                    @for rank in ranks.iter().take(N_CUT_SHORT_MAX) {
                        li {
                            "rank " (ranking::name(summary, rank)) " (process " (rank.pid) " on "
                            (harmless(&rank.node)) "): " (harmless(&rank.end))
                            @if let Some(call) = &rank.last_seen_in { ", last seen in " code { (harmless(call)) } }
                        }
                    }
                }
                (rest(ranks.len(), N_CUT_SHORT_MAX))
            }
        }
    }
}

const N_FINDINGS_MAX: usize = 20;

fn efficiencies(summary: &Summary) -> Markup {
    let table = html! {
        table.efficiencies {
            tbody { @for term in terms(&summary.pop) { (row(&term)) } }
        }
    };
    section("efficiency", "Efficiency", "each term is the product of those below it", &table)
}

fn row(term: &Term) -> Markup {
    let grade = grade(term.value).grade();
    html! {
        tr {
            th class={ "depth" (term.depth) } scope="row" { (term.name) }
            td.wide { (svg::stacked(&[(term.value, grade)])) }
            td.number { (percent(term.value)) }
            td class=(grade) { (grade) }
            td.meaning { (term.meaning) }
        }
    }
}

fn draw_findings(summary: &Summary) -> Markup {
    if summary.findings.is_empty() {
        return html! {};
    }
    let list = html! {
        ol.findings {
            @for finding in summary.findings.iter().take(N_FINDINGS_MAX) {
                li {
                    (harmless(&finding.text))
                    @if finding.share > 0.0 { " " span.share { (percent(finding.share)) } }
                    @if let Some((id, call)) = finding.call_site.and_then(|id| Some((id, place::call(summary, id)?))) {
                        br;
                        a href={ "#site" (id) } { code { (call) } }
                    }
                }
            }
        }
        (rest(summary.findings.len(), N_FINDINGS_MAX))
    };
    section("findings", "What limits this run", "with the share of the ranks' time at stake", &list)
}
