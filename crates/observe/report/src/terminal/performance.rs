//! The efficiencies as a tree, and the findings.

use super::page::{INDENT, Page};
use crate::efficiency::{Grade, Term, terms};
use crate::place;
use display::bars;
use display::ink::Tone;
use display::text;
use display::units::percent;
use run_record::Summary;
use run_record::summary::Finding;

/// Width of tree and longest name: `   ├─ Communication efficiency`.
const N_NAME: usize = 31;
/// Width for ` 100.0 %  good`.
const N_VALUE: usize = 15;
const N_FINDINGS_MAX: usize = 8;

pub(super) fn write_efficiencies(page: &mut Page, summary: &Summary) {
    page.heading("Efficiency", "100 % = all processors compute all the time");
    for term in terms(&summary.pop) {
        let line = efficiency_line(page, &term);
        page.line(&line);
    }
}

fn efficiency_line(page: &Page, term: &Term) -> String {
    let n_bar = (page.width() - INDENT - N_NAME - N_VALUE - 1).min(40);
    let grade = Grade::of(term.value);
    let tone = Tone::from(grade);
    let n_name = N_NAME - text::width(term.branch);
    let name = text::left(term.name, n_name);
    let name_tone = if term.depth == 0 { Tone::Strong } else { Tone::Plain };
    let [bar, rest] = bars::gauge(term.value, n_bar);
    format!(
        "{}{} {}{}{}  {}",
        page.paint(Tone::Dim, term.branch),
        page.paint(name_tone, &name),
        page.paint(tone, &bar),
        page.paint(Tone::Dim, &rest),
        text::right(&percent(term.value), 8),
        page.paint(tone, grade.word()),
    )
}

pub(super) fn write_findings(page: &mut Page, summary: &Summary) {
    if summary.findings.is_empty() {
        return;
    }
    page.heading("What limits this run", "share of the ranks' time");
    for (idx, finding) in summary.findings.iter().enumerate().take(N_FINDINGS_MAX) {
        write_finding(page, summary, idx + 1, finding);
    }
    page.rest(summary.findings.len(), N_FINDINGS_MAX);
}

fn write_finding(page: &mut Page, summary: &Summary, number: usize, finding: &Finding) {
    let bullet = format!("{number}. ");
    let share =
        if finding.share > 0.0 { format!(" [{}]", percent(finding.share)) } else { String::new() };
    page.sentence(&bullet, &format!("{}{share}", finding.text), Tone::Plain);
    let Some(call) = finding.call_site.and_then(|id| place::call(summary, id)) else { return };
    let room = page.width() - INDENT - text::width(&bullet) - 2;
    let call = text::shorten(&call, room);
    let line =
        format!("{}→ {}", text::spaces(text::width(&bullet)), page.paint(Tone::Strong, &call));
    page.line(&line);
}
