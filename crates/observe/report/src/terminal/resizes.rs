//! Resizes of a malleable program, and the phases of each.

use super::bars;
use super::ink::Tone;
use super::page::{INDENT, Page};
use super::table::{Align, Cell, Column, Table};
use crate::resizes::{RankHistory, caution, note, outcome};
use crate::text::{self, harmless};
use crate::units::{bytes, count, seconds};
use resize_api::{Outcome, Phase, Resize};

const NAME: &str = "ranks ";
/// Number of resizes listed at each end.
const N_LISTED_ENDS: usize = 8;

/// Columns by importance, from the left: the last ones are left out if there is no room.
const COLUMNS: [Column; 12] = [
    ("ranks", Align::Left),
    ("iteration", Align::Right),
    ("why", Align::Name),
    ("wait", Align::Right),
    ("in all", Align::Right),
    ("spawn", Align::Right),
    ("connect", Align::Right),
    ("moving", Align::Right),
    ("moved", Align::Right),
    ("release", Align::Right),
    ("decide", Align::Right),
    ("meanwhile", Align::Right),
];

pub(super) fn write(page: &mut Page, resizes: &[Resize], program: Option<(f64, f64)>) {
    if resizes.is_empty() {
        return;
    }
    page.heading("Resizes", &note(resizes));
    if let Some(history) = RankHistory::new(resizes, program) {
        let line = bars::sparkline(&history.sampled(page.width() - INDENT - text::width(NAME)));
        page.line(&format!("{NAME}{}", page.paint(Tone::Useful, &line)));
        let words = format!(
            "at most {} over {}; below, what each resize took",
            history.most(),
            seconds(history.end_s - history.start_s)
        );
        page.sentence("", &words, Tone::Dim);
    }
    write_table(page, &listed(resizes));
    let n_hidden = resizes.len().saturating_sub(2 * N_LISTED_ENDS);
    if n_hidden != 0 {
        let words = format!("{n_hidden} between them are in `resizes.jsonl` of the record");
        page.sentence("… ", &words, Tone::Dim);
    }
    listed(resizes).iter().for_each(|resize| write_words(page, resize));
    if let Some(caution) = caution(resizes) {
        page.sentence("! ", caution, Tone::Fair);
    }
}

/// Returns the first and the last resizes.
fn listed(resizes: &[Resize]) -> Vec<&Resize> {
    let n_last = resizes.len().saturating_sub(N_LISTED_ENDS).max(N_LISTED_ENDS);
    let is_listed = |idx: usize| idx < N_LISTED_ENDS || n_last <= idx;
    resizes.iter().enumerate().filter(|(idx, _)| is_listed(*idx)).map(|(_, one)| one).collect()
}

fn write_table(page: &mut Page, resizes: &[&Resize]) {
    let mut table = Table::new(&COLUMNS);
    resizes.iter().for_each(|resize| table.row(row(resize)));
    table.write(page);
}

fn row(resize: &Resize) -> Vec<Cell> {
    let phases = resize.phases();
    let phase = |wanted| {
        let found = phases.iter().find(|(phase, _)| *phase == wanted);
        found.map_or_else(|| "-".to_owned(), |(_, time_s)| seconds(*time_s))
    };
    let texts = [
        change(resize),
        count(resize.iteration),
        harmless(&resize.reason),
        phase(Phase::Wait),
        seconds(resize.seconds.total),
        phase(Phase::Spawn),
        phase(Phase::Connect),
        phase(Phase::Moving),
        bytes(resize.bytes.moved),
        phase(Phase::Release),
        phase(Phase::Decide),
        count(resize.iterations_meanwhile),
    ];
    let tone = if resize.outcome == Outcome::Done { Tone::Plain } else { Tone::Poor };
    texts.into_iter().map(|text| (text, tone)).collect()
}

fn change(resize: &Resize) -> String {
    let Resize { from, to, .. } = resize;
    let how = outcome(resize);
    if resize.outcome == Outcome::Done {
        format!("{from} → {to}")
    } else {
        format!("{from} → {to} {how}")
    }
}

/// Writes why a resize failed, and the estimate that was made.
fn write_words(page: &mut Page, resize: &Resize) {
    let bullet = format!("{} → {}: ", resize.from, resize.to);
    if resize.outcome != Outcome::Done {
        page.sentence(&bullet, &resize.sentence, Tone::Poor);
    }
    if let Some(decision) = &resize.decision {
        page.sentence(&bullet, &decision.sentence, Tone::Plain);
    }
}
