//! Cost of the observation, and data that were lost.

use super::section;
use crate::terminal::{kept, losses, price};
use display::text::harmless;
use maud::{Markup, html};
use run_record::Summary;

pub(super) fn draw(summary: &Summary) -> Markup {
    let tool = &summary.tool;
    if summary.ranks.is_empty() && tool.warnings.is_empty() {
        return html! {};
    }
    let content = html! {
        @if !summary.ranks.is_empty() { p { (price(tool)) "." } p { (kept(tool)) "." } }
        @for loss in losses(tool) { p.warning { (loss) "." } }
        @for warning in &tool.warnings { p.warning { (harmless(warning)) } }
    };
    section("cost", "Cost of observing", "", &content)
}
