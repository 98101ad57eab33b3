//! The report on a terminal.

use crate::samples;
use report::sample;
use report::terminal::{OutputPaths, Style, report};
use run_record::Summary;
use unicode_width::UnicodeWidthStr;

#[track_caller]
fn check(name: &str, summary: &Summary, style: Style) {
    let paths = OutputPaths {
        record: Some("sintonia-runs/0007".to_owned()),
        html: Some("sintonia-runs/0007/report.html".to_owned()),
    };
    let text = report(summary, &paths, style);
    if !style.color {
        assert!(!text.contains('\u{1b}'), "an escape sequence without color");
        let widest = text.lines().map(UnicodeWidthStr::width).max();
        assert!(widest <= Some(style.width), "a line of {widest:?} columns");
    }
    insta::assert_snapshot!(name, text);
}

const NARROW: Style = Style { color: false, width: 80 };

#[test]
fn a_usual_run() {
    check("usual", &sample::summary(), NARROW);
    check("usual_wide", &sample::summary(), Style { color: false, width: 120 });
    check("usual_narrow", &sample::summary(), Style { color: false, width: 60 });
    check("usual_color", &sample::summary(), Style { color: true, width: 80 });
}

#[test]
fn other_runs() {
    check("no_mpi", &samples::no_mpi(), NARROW);
    check("one_rank", &sample::summary_of(1), NARROW);
    // Ranks are folded.
    check("many_ranks", &sample::summary_of(512), NARROW);
    // Ranks that were killed are named.
    check("killed", &samples::killed(), NARROW);
    // Worlds are listed.
    check("spawned", &samples::spawned(), NARROW);
    // Names are cut and harmless.
    check("huge_names", &samples::huge_names(), NARROW);
}

#[test]
fn what_became_of_dealt_work_is_told() {
    let dealt = Summary { dealt: Some(sample::dealt(7, 60)), ..sample::summary() };
    check("dealt", &dealt, NARROW);
}

#[test]
fn resizes_are_told() {
    let resized = Summary { resizes: sample::resizes(), ..sample::summary() };
    check("resizes", &resized, NARROW);
    check("resizes_wide", &resized, Style { color: false, width: 120 });
}

#[test]
fn what_tuning_did_is_a_story() {
    check("tuned", &samples::tuned(), NARROW);
    let mut observed = samples::tuned();
    observed.tuning = Some(run_record::tuning::TuningSummary {
        mode: run_record::tuning::TuningMode::Observe,
        decisions: Vec::new(),
        ..sample::tuning()
    });
    check("tuning_observed", &observed, NARROW);
}

#[test]
fn functions_are_listed_by_their_time() {
    check("functions", &samples::probed(8), NARROW);
    check("functions_wide", &samples::probed(8), Style { color: false, width: 120 });
    check("functions_of_one_rank", &samples::probed(1), NARROW);
}
