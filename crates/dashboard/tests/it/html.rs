//! The report as a page.

use crate::browser::{document_of, root_attribute};
use crate::samples;
use dashboard::{html, sample};
use run_record::Summary;

/// Every page is well formed where names of the run could break it, and asks for nothing from outside.
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
    check(&samples::huge_names(), &["&lt;script&gt;alert(1)"]);
}

/// Opens the page of a run with a timeline and compares what its scripts found with what was put in.
#[track_caller]
fn check_drawn(summary: &Summary, n_ranks: u32, n_events: u32) {
    let timeline = sample::timeline(n_ranks, n_events);
    let page = html::page(summary, Some(&timeline));
    let document = document_of(&page, "?selftest");
    let attribute = |name| root_attribute(&document, name);
    assert_eq!(attribute("errors"), Some(""));
    assert_eq!(attribute("timeline-calls"), Some(timeline.n_events().to_string().as_str()));
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
fn a_browser_needs_no_timeline() {
    let document = document_of(&html::page(&sample::summary_of(300), None), "");
    assert_eq!(root_attribute(&document, "errors"), Some(""));
    assert!(document.contains("can-sort"), "no table can be sorted");
}
