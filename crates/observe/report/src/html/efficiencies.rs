//! The efficiencies as a tree of bars with their meaning, and the findings.

use super::{rest, section};
use crate::efficiency::{Grade, Term, terms};
use crate::place;
use crate::svg;
use display::text::harmless;
use display::units::percent;
use maud::{Markup, html};
use run_record::Summary;

const N_FINDINGS_MAX: usize = 20;

pub(super) fn draw(summary: &Summary) -> Markup {
    let table = html! {
        table.efficiencies {
            tbody { @for term in terms(&summary.pop) { (row(&term)) } }
        }
    };
    section("efficiency", "Efficiency", "each term is the product of those below it", &table)
}

fn row(term: &Term) -> Markup {
    let grade = Grade::of(term.value).word();
    html! {
        tr {
            th class={ "depth" (term.depth) } scope="row" { (term.name) }
            td.wide { (svg::bar(term.value, grade)) }
            td.number { (percent(term.value)) }
            td class=(grade) { (grade) }
            td.meaning { (term.meaning) }
        }
    }
}

pub(super) fn draw_findings(summary: &Summary) -> Markup {
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
