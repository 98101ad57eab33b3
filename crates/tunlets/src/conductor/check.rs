//! Whether a tuning point may have a value.

use application::{Change, Range, TuningPoint};
use events::Value;

/// How far from a step a value may lie, in steps.
const STEP_SLACK: f64 = 1e-6;

/// Whether `point` may have `value`; else the sentence why not.
pub(super) fn value(point: &TuningPoint, value: Value) -> Result<(), String> {
    match &point.change {
        Change::Load(_) if value.as_integer() != Some(1) => {
            return Err(format!("a library is loaded with the value 1, not {value}"));
        }
        Change::Replace { .. } if !matches!(value.as_integer(), Some(0 | 1)) => {
            return Err(format!("a replacement is switched by 0 or 1, not {value}"));
        }
        _ => {}
    }
    if let Some(kind) = point.kind
        && kind.bits(value).is_none()
    {
        return Err(format!("{value} is no {}", kind.name()));
    }
    point.range.as_ref().map_or(Ok(()), |range| in_range(range, value))
}

fn in_range(range: &Range, value: Value) -> Result<(), String> {
    let (low, high, number) = (range.low, range.high, value.as_f64());
    // Not a number is in no range.
    if !(low <= number && number <= high) {
        return Err(format!("{value} is not in its range from {low} to {high}"));
    }
    let Some(step) = range.step.filter(|step| 0.0 < *step) else { return Ok(()) };
    let steps = (number - low) / step;
    if STEP_SLACK < (steps - steps.round()).abs() {
        return Err(format!("{value} is not {low} plus whole steps of {step}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conductor::tests::point;
    use events::ValueType;

    #[track_caller]
    fn check(point: &TuningPoint, number: Value, expected: bool) {
        assert_eq!(value(point, number).is_ok(), expected, "{number}");
    }

    #[test]
    fn a_value_has_to_fit_range_step_and_type() {
        let mut real = point("F0", 0);
        real.range = Some(Range { low: 0.05, high: 1.0, step: Some(0.05) });
        check(&real, Value::Float(0.05), true);
        check(&real, Value::Float(0.35), true);
        check(&real, Value::Float(0.36), false);
        check(&real, Value::Float(1.05), false);
        check(&real, Value::Float(f64::NAN), false);
        let mut whole = point("NW", 0);
        whole.range = Some(Range { low: 1.0, high: 300.0, step: None });
        whole.kind = Some(ValueType::U8);
        check(&whole, Value::Int(4), true);
        check(&whole, Value::Float(4.5), false);
        check(&whole, Value::Int(256), false);
        let replace = Change::Replace { function: "f".into(), by: "g".into() };
        let switch = TuningPoint { change: replace, range: None, kind: None, ..real };
        check(&switch, Value::Int(1), true);
        check(&switch, Value::Int(2), false);
    }
}
