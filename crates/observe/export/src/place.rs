//! Call sites as text.

use run_record::Summary;
use std::collections::HashMap;

/// Returns the text of every call site by its number: `solve (cg.c:120)`.
pub(crate) fn texts(summary: &Summary) -> HashMap<u32, String> {
    let text = |site: &run_record::summary::CallSite| {
        let place = &site.place;
        let function = if place.function.is_empty() { "?" } else { &place.function };
        let file = place.file.rsplit('/').next().unwrap_or_default();
        let text = match (file.is_empty(), place.line) {
            (false, line) => format!("{function} ({file}:{line})"),
            (true, _) if place.module.is_empty() => function.to_owned(),
            (true, _) => format!("{function} ({}+{:#x})", place.module, place.offset),
        };
        Some((u32::try_from(site.id).ok()?, text))
    };
    summary.call_sites.iter().filter_map(text).collect()
}
