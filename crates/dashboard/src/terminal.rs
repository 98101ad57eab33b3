//! The report at the end of a run, as text for a terminal.
//!
//! # Invariants
//! - No line is wider than [`Style::width`], except a path, which is there to be copied.
//! - Without [`Style::color`] the text holds no escape sequence, and says the same.
//!
//! # Not here
//! Finding out whether the output is a terminal, how wide it is and whether it wants color (`cli`).

pub(crate) mod bars;

mod calls;
mod dealt;
mod functions;
mod header;
pub(crate) mod ink;
mod operations;
pub(crate) mod page;
mod performance;
mod ranks;
mod resizes;
pub(crate) mod table;
mod tool;
mod tuning;

pub(crate) use header::{NO_MPI, command, outcome_words};
pub(crate) use operations::{
    OUTSIDE, by_time as operations_by_time, is_outside, sizes_of_all, tick as size_tick,
};
pub(crate) use tool::{kept, losses, price};

use crate::resizes::program_of;
use page::Page;
use resized::Resize;
use run_record::Summary;

/// How the report is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to color with escape sequences.
    pub color: bool,
    /// Columns of the terminal; the report uses 60 to 140 of them.
    pub width: usize,
}

/// Where else the run is kept, for the last lines of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Folder of the run record.
    pub record: Option<String>,
    /// The HTML report.
    pub html: Option<String>,
}

/// The report of a run, ending in a line feed.
#[must_use]
pub fn report(summary: &Summary, written: &Written, style: Style) -> String {
    let mut page = Page::new(style);
    header::write(&mut page, summary);
    if !summary.ranks.is_empty() {
        performance::write_efficiencies(&mut page, summary);
        performance::write_findings(&mut page, summary);
        tuning::write(&mut page, summary);
        dealt::write(&mut page, summary.dealt.as_ref());
        resizes::write(&mut page, &summary.resizes, program_of(summary));
        ranks::write(&mut page, summary);
        functions::write(&mut page, summary);
        calls::write_call_sites(&mut page, summary);
        calls::write_regions(&mut page, summary);
        operations::write(&mut page, summary);
        operations::write_sizes(&mut page, summary);
    }
    tool::write_cost(&mut page, summary);
    tool::write_paths(&mut page, written);
    page.into_text()
}

/// What became of the work of a master and workers, ending in a line feed.
#[must_use]
pub fn dealt(dealt: &::dealt::Dealt, style: Style) -> String {
    let mut page = Page::new(style);
    dealt::write(&mut page, Some(dealt));
    page.into_text()
}

/// How a malleable program changed its number of ranks, ending in a line feed.
#[must_use]
pub fn resizes(resizes: &[Resize], style: Style) -> String {
    let mut page = Page::new(style);
    resizes::write(&mut page, resizes, None);
    page.into_text()
}
