//! `sintonia report` on records made by `sintonia run`.

use crate::sintonia::Place;

fn place_with_record() -> Place {
    let place = Place::new();
    let words = ["run", "--out", "record", "--quiet", "--no-html", "--", "sh", "-c", "exit 3"];
    assert_eq!(place.sintonia(&words).code, Some(3));
    place
}

#[test]
fn a_record_is_shown_again() {
    let said = place_with_record().sintonia(&["report", "record"]);
    assert_eq!((said.code, said.errors.as_str()), (Some(0), ""));
    assert!(said.output.contains("finished with exit code 3"), "{}", said.output);
}

#[test]
fn a_record_is_shown_as_json_and_as_a_page() {
    let place = place_with_record();
    let said = place.sintonia(&["report", "record", "--json", "--html", "page.html"]);
    let summary: serde_json::Value = serde_json::from_str(&said.output).unwrap();
    assert_eq!(summary["outcome"]["exit_code"], 3);
    assert!(std::fs::read_to_string(place.path("page.html")).unwrap().contains("<html"));
}

#[track_caller]
fn check_fails(words: &[&str], expected_code: i32, expected: &str) {
    let said = place_with_record().sintonia(words);
    assert_eq!(said.code, Some(expected_code));
    assert!(
        said.errors.starts_with("sintonia: ") && said.errors.contains(expected),
        "{}",
        said.errors
    );
}

#[test]
fn what_is_no_record_is_named() {
    check_fails(&["report", "nowhere"], 101, "`nowhere`");
    check_fails(&["report", "/proc"], 101, "`/proc`");
    check_fails(&["report", "record", "--html", "/proc/page.html"], 102, "`/proc/page.html`");
}

#[test]
fn the_record_of_a_run_that_is_cut_off_is_finished() {
    let place = Place::new();
    let mut child = place.start(&["run", "--out", "record", "--", "sh", "-c", "touch ready; cat"]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    assert!(analyzer::server::wait_until(deadline, || place.path("ready").exists()));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = place.sintonia(&["report", "record"]);
    assert_eq!(said.code, Some(0), "{}", said.errors);
    assert!(said.output.contains("touch ready; cat"), "{}", said.output);
    assert!(place.path("record/summary.json").is_file() && !place.path("record/spool").exists());
}
