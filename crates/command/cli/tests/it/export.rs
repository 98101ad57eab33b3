//! Tests of `sintonia export`.

use crate::sintonia::Sandbox;

#[test]
fn a_run_without_trace_cannot_be_exported() {
    let sandbox = Sandbox::new();
    sandbox.sintonia(&["run", "--out", "record", "--quiet", "--", "true"]);
    for format in ["chrome", "paraver", "simgrid"] {
        let said = sandbox.sintonia(&["export", "record", "--format", format, "-o", "out"]);
        assert_eq!(said.code, Some(100), "{}", said.errors);
        assert!(said.errors.contains("--trace"), "{}", said.errors);
        assert!(!sandbox.path("out").is_file());
    }
}
