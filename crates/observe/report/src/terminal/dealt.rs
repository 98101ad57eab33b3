//! Report of dealt work.

use super::page::{INDENT, Page};
use dealing_report::DealingReport;
use display::text::harmless;

pub(super) fn write(page: &mut Page, dealt: Option<&DealingReport>) {
    let lines =
        dealt.map(|dealt| dealing_report::lines(dealt, page.width() - INDENT)).unwrap_or_default();
    if !lines.is_empty() {
        page.heading("Master and workers", "who computed, and what the others waited for");
    }
    lines.iter().for_each(|line| page.line(&harmless(line)));
}
