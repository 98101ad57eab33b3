//! Tests of `sintonia export`.

use crate::sintonia::Place;

#[test]
fn a_run_without_trace_cannot_be_exported() {
    let place = Place::new();
    place.sintonia(&["run", "--out", "record", "--quiet", "--", "true"]);
    for format in ["chrome", "paraver", "simgrid"] {
        let said = place.sintonia(&["export", "record", "--format", format, "-o", "out"]);
        assert_eq!(said.code, Some(100), "{}", said.errors);
        assert!(said.errors.contains("--trace"), "{}", said.errors);
        assert!(!place.path("out").is_file());
    }
}
