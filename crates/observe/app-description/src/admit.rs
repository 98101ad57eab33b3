//! Checks whether a value is allowed for a tuning point.

use crate::description::{ChangeKind, Range, TuningPoint};
use events::Value;

/// Tolerance, in steps, for the rounding of a value to a step.
const STEP_SLACK: f64 = 1e-6;

impl TuningPoint {
    /// Returns the value to set: rounded exactly to its step, and to an integer for an integer type.
    ///
    /// # Errors
    /// A sentence with the reason why the description does not allow the value.
    pub fn admit(&self, value: Value) -> Result<Value, String> {
        let (point, Some(range)) = (&self.name, self.range) else {
            return self.admit_switch(value);
        };
        let Range { low, high, step } = range;
        if !(low..=high).contains(&value.as_f64()) {
            return Err(format!(
                "`{value}` is outside the range of `{point}`; choose from {low} to {high}"
            ));
        }
        let value = match step {
            Some(step) => {
                let n_steps = (value.as_f64() - low) / step;
                if STEP_SLACK < (n_steps - n_steps.round()).abs() {
                    return Err(format!(
                        "`{value}` is no step of `{point}`; choose {low} plus a multiple of {step}"
                    ));
                }
                Value::Float((low + n_steps.round() * step).min(high))
            }
            None => value,
        };
        let Some(kind) = self.kind else { return Ok(value) };
        let no_value = || {
            let kind = kind.name();
            format!("`{value}` is no {kind}, the type of `{point}`; round it or choose another")
        };
        kind.bits(value).map(|bits| kind.value(bits)).ok_or_else(no_value)
    }

    /// Returns the value of a switch, 1 or 0; only 1 for a library, which stays once it is loaded.
    fn admit_switch(&self, value: Value) -> Result<Value, String> {
        let is_final = matches!(self.change, ChangeKind::Load(_));
        let allowed = if is_final { "1 (it stays on)" } else { "1 or 0" };
        match value.as_integer() {
            Some(1) => Ok(Value::Int(1)),
            Some(0) if !is_final => Ok(Value::Int(0)),
            _ => Err(format!("`{}` is a switch: use {allowed}, not `{value}`", self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::Value::{Float, Int};

    fn point(fields: &str) -> TuningPoint {
        let (application, problems) = crate::read(&format!(
            "format = 1\nprogram = 'x'\nactors = {{ a = '0' }}\n[[tuning_point]]\nname = 'p'\nactor = 'a'\n\
             at = {{ function = 'f', at = 'entry' }}\n{fields}"
        ));
        assert_eq!(problems, []);
        application.unwrap().tuning_points.remove(0)
    }

    /// Checks the admitted value, or the reason of the refusal.
    #[track_caller]
    fn check(point: &TuningPoint, value: Value, expected: &str) {
        let admitted = point.admit(value);
        assert_eq!(admitted.map_or_else(|reason| reason, |value| format!("{value:?}")), expected);
    }

    #[test]
    fn a_value_is_in_range_on_a_step_and_of_the_type() {
        let float = point("type = 'double'\nrange = [0.05, 1]");
        check(&float, Float(0.38), "Float(0.38)");
        check(&float, Int(1), "Float(1.0)");
        check(&float, Float(1.01), "`1.01` is outside the range of `p`; choose from 0.05 to 1");
        check(&float, Float(f64::NAN), "`NaN` is outside the range of `p`; choose from 0.05 to 1");
        let whole = point("type = 'int'\nrange = [1, 1024]");
        check(&whole, Float(3.0), "Int(3)");
        let expected = "`3.5` is no int32, the type of `p`; round it or choose another";
        check(&whole, Float(3.5), expected);
        let stepped = point("type = 'double'\nrange = [0.1, 1]\nstep = 0.1");
        check(&stepped, Float(0.1 + 0.2), &format!("Float({:?})", 0.1 + 2.0 * 0.1));
        check(&stepped, Float(1.0), "Float(1.0)");
        check(&stepped, Float(0.25), "`0.25` is no step of `p`; choose 0.1 plus a multiple of 0.1");
        let powers = point("type = 'uint8'\nrange = [4, 64]\nstep = 4");
        check(&powers, Int(12), "Int(12)");
        check(&powers, Int(13), "`13` is no step of `p`; choose 4 plus a multiple of 4");
    }

    #[test]
    fn a_switch_is_on_or_off() {
        let switch = point("replace = { function = 'f', by = 'g' }");
        check(&switch, Float(1.0), "Int(1)");
        check(&switch, Int(0), "Int(0)");
        check(&switch, Int(2), "`p` is a switch: use 1 or 0, not `2`");
        check(&switch, Float(0.5), "`p` is a switch: use 1 or 0, not `0.5`");
        let load = point("load = 'x.so'");
        check(&load, Int(1), "Int(1)");
        check(&load, Int(0), "`p` is a switch: use 1 (it stays on), not `0`");
    }
}
