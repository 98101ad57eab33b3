//! Tests of call sites and regions: they have function, file and line as in the source.

use run_record::Summary;
use run_record::summary::CallSite;
use suite::library::Library::{self, OpenMpi4};
use suite::program::source_folder;
use suite::{TestProgram, watch};

/// Line of `sites.c` that ends in `site: NAME`.
fn line_of(name: &str) -> u32 {
    let text =
        std::fs::read_to_string(source_folder().join("sites.c")).expect("the source is there");
    let mark = format!("site: {name} */");
    let place =
        text.lines().position(|line| line.contains(&mark)).expect("the source has the mark");
    u32::try_from(place + 1).expect("a short file")
}

#[track_caller]
fn check(summary: &Summary, operation: &str, expected: (&str, &str, u64)) {
    let (function, name, calls) = expected;
    let line = line_of(name);
    let is_it = |site: &&CallSite| site.operation == operation && site.place.line == line;
    let site = summary.call_sites.iter().find(is_it);
    let site =
        site.unwrap_or_else(|| panic!("no {operation} at line {line}: {:#?}", summary.call_sites));
    assert_eq!((site.place.function.as_str(), site.calls), (function, calls), "{operation}");
    assert!(site.place.file.ends_with("programs/sites.c"), "{:?}", site.place);
}

#[test]
fn a_call_site_is_a_line_of_the_source() {
    for library in Library::ALL {
        let summary = watch(&library.launch(2, &TestProgram::c("sites").built(library))).summary;
        check(&summary, "MPI_Bcast", ("spread", "spread", 2));
        check(&summary, "MPI_Allreduce", ("add", "add", 20));
        check(&summary, "MPI_Barrier", ("meet_twice", "first", 2));
        check(&summary, "MPI_Barrier", ("meet_twice", "second", 2));
        assert_eq!(
            summary.call_sites.iter().filter(|site| site.operation == "MPI_Barrier").count(),
            2
        );
    }
}

/// Counts by call site and by region add up to those by operation.
#[test]
fn sites_and_regions_add_up_to_operations() {
    let summary =
        watch(&OpenMpi4.launch(3, &TestProgram::cpp("particles").built(OpenMpi4))).summary;
    for (name, totals) in &summary.operations {
        let sites = summary.call_sites.iter().filter(|site| site.operation == *name);
        let (calls, bytes) =
            sites.fold((0, 0), |sum, site| (sum.0 + site.calls, sum.1 + site.bytes));
        assert_eq!((calls, bytes), (totals.calls, totals.bytes), "{name}");
    }
    for site in &summary.call_sites {
        let calls: u64 = summary
            .regions
            .iter()
            .filter(|region| region.to == Some(site.id))
            .map(|r| r.calls)
            .sum();
        assert_eq!(calls, site.calls, "{} at {:?}", site.operation, site.place);
    }
    assert_eq!(summary.tool.calls_without_region, 0);
}

#[test]
fn a_region_joins_two_sites() {
    let summary = watch(&OpenMpi4.launch(2, &TestProgram::c("sites").built(OpenMpi4))).summary;
    let id = |line: u32| {
        summary.call_sites.iter().find(|site| site.place.line == line).map(|site| site.id)
    };
    let (add, first) = (id(line_of("add")), id(line_of("first")));
    let passed = |from, to| {
        let found = summary.regions.iter().find(|region| (region.from, region.to) == (from, to));
        found.map(|region| region.calls)
    };
    assert!(add.is_some() && first.is_some());
    assert_eq!(passed(add, add), Some(2 * 9));
    assert_eq!(passed(add, first), Some(2));
}
