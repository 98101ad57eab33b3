//! Tests of `sintonia export`.

use crate::sintonia::Sandbox;

#[test]
fn a_run_without_trace_cannot_be_exported() {
    let sandbox = Sandbox::new();
    sandbox.said("run --out record --quiet -- true");
    for format in ["chrome", "paraver", "simgrid"] {
        let said = sandbox.said(&format!("export record --format {format} -o out"));
        said.check_errors(100, "--trace");
        assert!(!sandbox.path("out").is_file());
    }
}
