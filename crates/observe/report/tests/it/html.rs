//! The HTML report.

use crate::browser::{document_of, root_attribute};
use crate::samples;
use report::timeline::{Lane, Timeline};
use report::{html, sample};
use run_record::Summary;

/// Checks that a page contains the expected texts, is well-formed despite the run's names, and
/// loads nothing from outside.
#[track_caller]
fn check(summary: &Summary, expected: &[&str]) {
    let page = html::page(summary, None);
    for text in expected {
        assert!(page.contains(text), "no `{text}` in the page");
    }
    assert!(!page.contains("<script>alert"), "a name became markup");
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "`{outside}` in the page");
    }
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
}

#[test]
fn a_page_says_what_the_summary_says() {
    check(&sample::summary(), &["68.9 %", "xfire.c:412", "node02", "fair", "id=\"traffic\""]);
    check(&sample::summary_of(1), &["<dd class=\"\">1</dd><dt>rank</dt>", "55.0 %"]);
    check(&sample::summary_of(2048), &["2 to a column", "ranks between these are not listed"]);
    check(&samples::no_mpi(), &["No MPI process was seen"]);
    check(&samples::killed(), &["2 ranks did not finish", "12.3 k records found the ring full"]);
    check(&samples::spawned(), &["/opt/bin/child", "2 of 3", "World"]);
    let tuned = ["id=\"tuning\"", "F1 1 → 0.38", "undone: iterations 21.8 % slower", "#decision-2"];
    check(&samples::tuned(), &tuned);
    let dealt = Summary { dealt: Some(sample::dealt(7, 60)), ..sample::summary() };
    check(&dealt, &["id=\"dealt\"", "dealt by fac2", "waits between chunks", "share of batch 1"]);
    let resized = Summary { resizes: sample::resizes(), ..sample::summary() };
    let said = ["id=\"resizes\"", "2 of 3 resizes", "8 → 16", "no nodes are idle", "wait 21.4 ms"];
    check(&resized, &said);
    let probed = ["id=\"functions\"", "model::step_22(", "7 ×1.30", "with all that they call"];
    check(&samples::probed(8), &probed);
    check(&samples::huge_names(), &["&lt;script&gt;alert(1)"]);
}

#[test]
fn what_a_program_wrote_is_a_page() {
    let page = html::dealt(&sample::dealt(3, 1), "<b>r.json");
    assert!(
        page.contains("&lt;b&gt;r.json") && page.contains("the slowest") && !page.contains("<b>")
    );
    let page = html::resizes(&sample::resizes(), "<b>r");
    assert!(
        page.contains("Ranks over time") && page.contains("&lt;b&gt;") && !page.contains("<b>r")
    );
}

/// Returns sums over the columns of a timeline, by the attribute in which the page stores what it decoded.
fn packed_sums(timeline: &Timeline) -> [(&'static str, u64); 6] {
    let sum = |of: &dyn Fn(&Lane) -> u64| timeline.lanes.iter().map(of).sum::<u64>();
    let total = |column: &[u64]| column.iter().sum::<u64>();
    [
        ("timeline-calls", timeline.n_events() as u64),
        ("timeline-ns", sum(&|lane| total(&lane.end_ns) - total(&lane.start_ns))),
        ("timeline-bytes", sum(&|lane| total(&lane.bytes))),
        (
            "timeline-peers",
            sum(&|lane| lane.peer.iter().flatten().map(|peer| u64::from(*peer)).sum()),
        ),
        ("timeline-sites", sum(&|lane| lane.call_site.iter().flatten().sum::<usize>() as u64)),
        ("timeline-messages", sum(&|lane| lane.received_at.iter().flatten().count() as u64)),
    ]
}

/// Opens the page of a run with a timeline, and compares the data found by its scripts with the input.
#[track_caller]
fn check_drawn(summary: &Summary, n_ranks: u32, n_events: u32) {
    let timeline = sample::timeline(n_ranks, n_events);
    let page = html::page(summary, Some(&timeline));
    let document = document_of(&page, "?selftest");
    let attribute = |name| root_attribute(&document, name);
    assert_eq!(attribute("errors"), Some(""));
    for (name, packed) in packed_sums(&timeline) {
        assert_eq!(attribute(name), Some(packed.to_string().as_str()), "{name}");
    }
    assert_eq!(attribute("selftest"), Some("done"));
    for pixels in [attribute("timeline-pixels"), attribute("zoomed-pixels")] {
        let n_pixels: u64 = pixels.unwrap().parse().unwrap();
        assert!(n_pixels > 1000, "only {n_pixels} pixels show a call");
    }
}

#[test]
fn a_browser_draws_the_timeline() {
    check_drawn(&sample::summary(), 8, 4_000);
}

#[test]
fn a_browser_draws_a_million_calls() {
    check_drawn(&samples::huge_names(), 16, 1_000_000);
}

#[test]
fn a_timeline_says_what_it_lacks() {
    let page = html::page(&sample::summary(), Some(&Timeline::default()));
    assert!(page.contains("No call was recorded."));
    let timeline = Timeline { n_left_out: 7, left_out_ns_max: 300, ..sample::timeline(2, 100) };
    let page = html::page(&sample::summary(), Some(&timeline));
    assert!(page.contains("7 calls of at most 300 ns are left out"));
}

#[test]
fn a_browser_needs_no_timeline() {
    let document = document_of(&html::page(&sample::summary_of(300), None), "");
    assert_eq!(root_attribute(&document, "errors"), Some(""));
    assert!(document.contains("can-sort"), "no table can be sorted");
}

#[test]
fn a_browser_shows_what_tuning_did() {
    let document = document_of(&html::page(&samples::tuned(), None), "");
    assert_eq!(root_attribute(&document, "errors"), Some(""));
    assert_eq!(document.matches("<circle").count(), 40);
    assert_eq!(document.matches("class=\"steps\"").count(), 3);
}
