//! The report at the end of a run, as text for a terminal.
//!
//! # Invariants
//! - The report uses 60 to 140 columns of [`Style::width`]; no line is wider, except paths, which must stay copyable.
//! - Without [`Style::color`], the text contains no escape sequences and the same information.
//!
//! # Not here
//! Detection of a terminal, its width and whether it wants color (`user-io`).

mod dealt;
mod header;
pub(crate) mod page;
mod performance;
mod ranks;
mod resizes;
mod sizes;
mod tool;
mod tuning;

pub use display::ink::Style;
pub(crate) use header::{NO_MPI, command, outcome_words};
pub(crate) use sizes::{sizes_of_all, tick as size_tick};
pub(crate) use tool::{kept, losses, price};

use crate::resizes::program_of;
use crate::tables;
use page::Page;
use resize_api::Resize;
use run_record::Summary;

/// Paths of files about the run, for the last lines of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputPaths {
    /// Folder of the run record.
    pub record: Option<String>,
    /// Path of the HTML report.
    pub html: Option<String>,
}

/// Returns the report of a run, ending in a line feed.
#[must_use]
pub fn report(summary: &Summary, paths: &OutputPaths, style: Style) -> String {
    let mut page = Page::new(style);
    header::write(&mut page, summary);
    if !summary.ranks.is_empty() {
        performance::write_efficiencies(&mut page, summary);
        performance::write_findings(&mut page, summary);
        tuning::write(&mut page, summary);
        dealt::write(&mut page, summary.dealt.as_ref());
        resizes::write(&mut page, &summary.resizes, program_of(summary));
        ranks::write(&mut page, summary);
        tables::all(summary, page.medium()).for_each(|listing| page.listing(&listing));
        sizes::write(&mut page, summary);
    }
    tool::write_cost(&mut page, summary);
    tool::write_paths(&mut page, paths);
    page.into_text()
}

/// Returns the report of work dealt by a master, ending in a line feed.
#[must_use]
pub fn dealt(dealt: &::dealing_report::DealingReport, style: Style) -> String {
    let mut page = Page::new(style);
    dealt::write(&mut page, Some(dealt));
    page.into_text()
}

/// Returns the report of a malleable program's resizes, ending in a line feed.
#[must_use]
pub fn resizes(resizes: &[Resize], style: Style) -> String {
    let mut page = Page::new(style);
    resizes::write(&mut page, resizes, None);
    page.into_text()
}
