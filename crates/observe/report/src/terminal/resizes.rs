//! Resizes of a malleable program, and the phases of each.

use super::page::{INDENT, Page};
use crate::resizes::{RankHistory, caution, note, outcome};
use display::bars;
use display::ink::Tone;
use display::table::{Cell, Table};
use display::text::{self, harmless};
use display::units::{bytes, count, seconds};
use resize_api::{Resize, ResizeOutcome, ResizePhase};

const NAME: &str = "ranks ";
/// Number of resizes listed at each end.
const N_LISTED_ENDS: usize = 8;

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
    page.table(&table(&listed(resizes)));
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

/// Columns by importance, from the left: the last ones are left out if there is no room.
fn table<'a>(resizes: &[&'a Resize]) -> Table<&'a Resize> {
    let phase = |resize: &Resize, wanted| {
        let phases = resize.phases();
        let found = phases.iter().find(|(phase, _)| *phase == wanted);
        found.map_or_else(|| "-".to_owned(), |(_, time_s)| seconds(*time_s))
    };
    let tone = |resize: &Resize| match resize.outcome {
        ResizeOutcome::Done => Tone::Plain,
        _ => Tone::Poor,
    };
    Table::new(resizes.iter().copied())
        .left("ranks", |it| Cell::from(change(it)).tone(tone(it)))
        .right("iteration", |it| count(it.iteration))
        .name("why", |it| harmless(&it.reason))
        .right("wait", |it| phase(it, ResizePhase::Wait))
        .right("in all", |it| seconds(it.seconds.total))
        .right("spawn", |it| phase(it, ResizePhase::Spawn))
        .right("connect", |it| phase(it, ResizePhase::Connect))
        .right("moving", |it| phase(it, ResizePhase::Moving))
        .right("moved", |it| bytes(it.bytes.moved))
        .right("release", |it| phase(it, ResizePhase::Release))
        .right("decide", |it| phase(it, ResizePhase::Decide))
        .right("meanwhile", |it| count(it.iterations_meanwhile))
}

fn change(resize: &Resize) -> String {
    let Resize { from, to, .. } = resize;
    match resize.outcome {
        ResizeOutcome::Done => format!("{from} → {to}"),
        _ => format!("{from} → {to} {}", outcome(resize)),
    }
}

/// Writes why a resize failed, and the estimate that was made.
fn write_words(page: &mut Page, resize: &Resize) {
    let bullet = format!("{} → {}: ", resize.from, resize.to);
    if resize.outcome != ResizeOutcome::Done {
        page.sentence(&bullet, &resize.sentence, Tone::Poor);
    }
    if let Some(decision) = &resize.decision {
        page.sentence(&bullet, &decision.sentence, Tone::Plain);
    }
}
