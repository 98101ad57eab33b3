//! Checks whether a value is allowed for a tuning point.

use crate::description::{ChangeKind, Range, TuningPoint};
use events::{Value, ValueType};
use thiserror::Error;

/// Tolerance, in steps, for the rounding of a value to a step.
const STEP_SLACK: f64 = 1e-6;

/// Reason why a value is not allowed for a tuning point.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum AdmitError {
    /// The value is outside the range, or not a number.
    #[error("`{value}` is outside the range of `{point}`; choose from {low} to {high}")]
    OutsideRange {
        /// The tuning point.
        point: String,
        /// The rejected value.
        value: Value,
        /// Smallest allowed value.
        low: f64,
        /// Largest allowed value.
        high: f64,
    },
    /// The value lies between two steps.
    #[error("`{value}` is no step of `{point}`; choose {low} plus a multiple of {step}")]
    OffStep {
        /// The tuning point.
        point: String,
        /// The rejected value.
        value: Value,
        /// Smallest allowed value.
        low: f64,
        /// Distance between allowed values.
        step: f64,
    },
    /// The type of the tuning point cannot hold the value.
    #[error("`{value}` is no {}, the type of `{point}`; round it or choose another", kind.name())]
    WrongType {
        /// The tuning point.
        point: String,
        /// The rejected value.
        value: Value,
        /// Type of the tuning point.
        kind: ValueType,
    },
    /// The tuning point is a switch, and the value is neither 1 nor 0, or would unload a library.
    #[error("`{point}` is a switch: {}, not `{value}`", if *is_final { "use 1 (it stays on)" } else { "use 1 or 0" })]
    NoSwitch {
        /// The tuning point.
        point: String,
        /// The rejected value.
        value: Value,
        /// True if the switch cannot be turned off.
        is_final: bool,
    },
}

impl TuningPoint {
    /// Returns the value to set: rounded exactly to its step, and to an integer for an integer type.
    ///
    /// # Errors
    /// The description does not allow the value.
    pub fn admit(&self, value: Value) -> Result<Value, AdmitError> {
        let point = || self.name.clone();
        let Some(range) = self.range else {
            return self.admit_switch(value);
        };
        let Range { low, high, .. } = range;
        if !(low..=high).contains(&value.as_f64()) {
            return Err(AdmitError::OutsideRange { point: point(), value, low, high });
        }
        let value = self.on_step(value, range)?;
        match self.kind {
            Some(kind) => {
                let bits = kind.bits(value);
                let bits =
                    bits.ok_or_else(|| AdmitError::WrongType { point: point(), value, kind })?;
                Ok(kind.value(bits))
            }
            None => Ok(value),
        }
    }

    fn admit_switch(&self, value: Value) -> Result<Value, AdmitError> {
        let is_final = matches!(self.change, ChangeKind::Load(_));
        match value.as_integer() {
            Some(1) => Ok(Value::Int(1)),
            Some(0) if !is_final => Ok(Value::Int(0)),
            _ => Err(AdmitError::NoSwitch { point: self.name.clone(), value, is_final }),
        }
    }

    fn on_step(&self, value: Value, range: Range) -> Result<Value, AdmitError> {
        let Some(step) = range.step else {
            return Ok(value);
        };
        let n_steps = (value.as_f64() - range.low) / step;
        if STEP_SLACK < (n_steps - n_steps.round()).abs() {
            let point = self.name.clone();
            return Err(AdmitError::OffStep { point, value, low: range.low, step });
        }
        Ok(Value::Float((range.low + n_steps.round() * step).min(range.high)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::ProbePoint;

    fn point(kind: Option<ValueType>, range: Option<(f64, f64, Option<f64>)>) -> TuningPoint {
        TuningPoint {
            name: "p".to_owned(),
            actor: 0,
            change: ChangeKind::Variable("p".to_owned()),
            kind,
            range: range.map(|(low, high, step)| Range { low, high, step }),
            sync_function: "f".to_owned(),
            sync_place: ProbePoint::Entry,
            is_repeated: false,
            is_forced: false,
            limit: 0.05,
            line: 1,
        }
    }

    #[track_caller]
    fn check(point: &TuningPoint, value: Value, expected: Result<Value, &str>) {
        let admitted = point.admit(value).map_err(|error| error.to_string());
        assert_eq!(admitted, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_value_is_in_range_on_a_step_and_of_the_type() {
        let float = point(Some(ValueType::F64), Some((0.05, 1.0, None)));
        check(&float, Value::Float(0.38), Ok(Value::Float(0.38)));
        check(&float, Value::Int(1), Ok(Value::Float(1.0)));
        check(
            &float,
            Value::Float(1.01),
            Err("`1.01` is outside the range of `p`; choose from 0.05 to 1"),
        );
        check(
            &float,
            Value::Float(f64::NAN),
            Err("`NaN` is outside the range of `p`; choose from 0.05 to 1"),
        );
        let whole = point(Some(ValueType::I32), Some((1.0, 1024.0, None)));
        check(&whole, Value::Float(3.0), Ok(Value::Int(3)));
        check(
            &whole,
            Value::Float(3.5),
            Err("`3.5` is no int32, the type of `p`; round it or choose another"),
        );
        let stepped = point(Some(ValueType::F64), Some((0.1, 1.0, Some(0.1))));
        check(&stepped, Value::Float(0.1 + 0.2), Ok(Value::Float(0.1 + 2.0 * 0.1)));
        check(&stepped, Value::Float(1.0), Ok(Value::Float(1.0)));
        check(
            &stepped,
            Value::Float(0.25),
            Err("`0.25` is no step of `p`; choose 0.1 plus a multiple of 0.1"),
        );
        let powers = point(Some(ValueType::U8), Some((4.0, 64.0, Some(4.0))));
        check(&powers, Value::Int(12), Ok(Value::Int(12)));
        check(
            &powers,
            Value::Int(13),
            Err("`13` is no step of `p`; choose 4 plus a multiple of 4"),
        );
    }

    #[test]
    fn a_switch_is_on_or_off() {
        let mut switch = point(None, None);
        check(&switch, Value::Float(1.0), Ok(Value::Int(1)));
        check(&switch, Value::Int(0), Ok(Value::Int(0)));
        check(&switch, Value::Int(2), Err("`p` is a switch: use 1 or 0, not `2`"));
        check(&switch, Value::Float(0.5), Err("`p` is a switch: use 1 or 0, not `0.5`"));
        switch.change = ChangeKind::Load("x.so".to_owned());
        check(&switch, Value::Int(1), Ok(Value::Int(1)));
        check(&switch, Value::Int(0), Err("`p` is a switch: use 1 (it stays on), not `0`"));
    }
}
