//! Target: the plan of an experiment, `PLAN.toml`, with its expressions.

use experiment::{Expression, Plan};
use std::collections::BTreeMap;

/// Most points whose command is made.
const N_POINTS_MAX: usize = 20;

/// Reads the text as a plan, makes the commands of its points, and reads the text as an expression.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Plan::read(&text) {
        Ok(plan) => {
            let points = plan.points().expect("a plan that was read has points");
            for point in points.iter().take(N_POINTS_MAX) {
                plan.words(point, Some("script")).expect("its command was tried");
                plan.script(point).expect("its script was tried");
                plan.variables(point).expect("its variables were tried");
                plan.expected_s(point);
            }
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "an error is one line: {error}"),
    }
    let parameters = BTreeMap::from([("n".to_owned(), 3.0), ("p".to_owned(), 2.0)]);
    for line in text.lines() {
        if let Ok(Ok(value)) = Expression::read(line).map(|it| it.value(&parameters)) {
            assert!(value.is_finite(), "`{line}` is {value}");
        }
    }
}
