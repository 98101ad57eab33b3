//! Names of places in the program, for reports.

use display::text::harmless;
use run_record::Summary;
use run_record::summary::{CallSite, SourceLocation};

/// Returns `file:line` with the last part of the path; module and offset if the file is unknown.
pub(crate) fn location(place: &SourceLocation) -> String {
    if !place.file.is_empty() {
        let file = harmless(last_part(&place.file));
        return if place.line == 0 { file } else { format!("{file}:{}", place.line) };
    }
    if place.module.is_empty() {
        return "place unknown".to_owned();
    }
    format!("{}+{:#x}", harmless(last_part(&place.module)), place.offset)
}

/// Returns the function's name; `?` if unknown.
pub(crate) fn function(place: &SourceLocation) -> String {
    if place.function.is_empty() { "?".to_owned() } else { harmless(&place.function) }
}

/// Returns function and location.
pub(crate) fn place(place: &SourceLocation) -> String {
    if place.function.is_empty() {
        return location(place);
    }
    format!("{} {}", function(place), location(place))
}

/// Returns the call site with this id.
pub(crate) fn call_site(summary: &Summary, id: usize) -> Option<&CallSite> {
    // The id usually equals the position, and a summary may have thousands of call sites.
    summary
        .call_sites
        .get(id)
        .filter(|site| site.id == id)
        .or_else(|| summary.call_sites.iter().find(|site| site.id == id))
}

/// Returns `MPI_Recv in solve heat.c:12` for a call site of a finding or region.
pub(crate) fn call(summary: &Summary, id: usize) -> Option<String> {
    let site = call_site(summary, id)?;
    Some(format!("{} in {}", harmless(&site.operation), place(&site.place)))
}

/// Returns `heat.c:12 MPI_Recv`: the name of a call site in measurements.
pub fn call_label(site: &CallSite) -> String {
    format!("{} {}", location(&site.place), harmless(&site.operation))
}

/// Returns the whole path and line, module and offset.
pub(crate) fn full(place: &SourceLocation) -> String {
    harmless(&format!("{}:{} ({}+{:#x})", place.file, place.line, place.module, place.offset))
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(function: &str, file: &str, line: u32, expected: &str) {
        let known = SourceLocation {
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
