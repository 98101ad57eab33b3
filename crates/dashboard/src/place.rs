//! How a place in the program is called in a report.

use crate::text::harmless;
use run_record::Summary;
use run_record::summary::{CallSite, Place, Region};

/// `file:line` with the file's last part; module and offset where the file is unknown.
pub(crate) fn location(place: &Place) -> String {
    if !place.file.is_empty() {
        let file = harmless(last_part(&place.file));
        return if place.line == 0 { file } else { format!("{file}:{}", place.line) };
    }
    if place.module.is_empty() {
        return "place unknown".to_owned();
    }
    format!("{}+{:#x}", harmless(last_part(&place.module)), place.offset)
}

/// The function, without the arguments of a demangled name where it has some.
pub(crate) fn function(place: &Place) -> String {
    if place.function.is_empty() { "?".to_owned() } else { harmless(&place.function) }
}

/// Function and location.
pub(crate) fn place(place: &Place) -> String {
    if place.function.is_empty() {
        return location(place);
    }
    format!("{} {}", function(place), location(place))
}

/// The call site with this number.
pub(crate) fn call_site(summary: &Summary, id: usize) -> Option<&CallSite> {
    // The number is mostly the position, and a summary may have thousands of call sites.
    summary
        .call_sites
        .get(id)
        .filter(|site| site.id == id)
        .or_else(|| summary.call_sites.iter().find(|site| site.id == id))
}

/// `MPI_Recv solve heat.c:12`, for a call site named by a finding or a region.
pub(crate) fn call(summary: &Summary, id: usize) -> Option<String> {
    let site = call_site(summary, id)?;
    Some(format!("{} in {}", harmless(&site.operation), place(&site.place)))
}

/// `heat.c:12 MPI_Recv`: a call site as measurements name it.
pub fn call_label(site: &CallSite) -> String {
    format!("{} {}", location(&site.place), harmless(&site.operation))
}

/// Where a region starts and ends: locations of the calls around it.
pub(crate) fn region_ends(summary: &Summary, region: &Region) -> (String, String) {
    let end = |id: Option<usize>, missing: &str| {
        id.and_then(|id| call_site(summary, id))
            .map_or_else(|| missing.to_owned(), |site| location(&site.place))
    };
    (end(region.from, "start"), end(region.to, "end"))
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(function: &str, file: &str, line: u32, expected: &str) {
        let known = Place {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
            module: "/opt/bin/heat".to_owned(),
            offset: 0x1234,
        };
        assert_eq!(place(&known), expected);
    }

    #[test]
    fn a_place_is_named_as_far_as_it_is_known() {
        check("solve", "/src/heat.c", 12, "solve heat.c:12");
        check("solve", "heat.c", 0, "solve heat.c");
        check("", "heat.c", 12, "heat.c:12");
        check("solve", "", 0, "solve heat+0x1234");
        check("", "", 0, "heat+0x1234");
        check("a\u{1b}[31mb", "x\n.c", 1, "a·[31mb x·.c:1");
    }
}
