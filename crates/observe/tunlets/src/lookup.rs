//! Looks up by name, once, what a tunlet needs from the description, and reads its options.

use crate::tunlet::{Decision, TunletError, World};
use app_description::{Application, Past, TuningPoint};
use events::Value;
use std::ops::RangeInclusive;

/// View of the description for one tunlet.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a> {
    pub(crate) tunlet: &'static str,
    pub(crate) application: &'a Application,
    pub(crate) world: &'a World,
}

impl Lookup<'_> {
    /// Returns the position of an event, if described.
    pub(crate) fn maybe_event(&self, name: &str) -> Option<usize> {
        self.application.events.iter().position(|event| event.name == name)
    }

    /// Returns the position of an event.
    pub(crate) fn event(&self, name: &str) -> Result<usize, TunletError> {
        self.maybe_event(name).ok_or_else(|| TunletError::NoEvent {
            tunlet: self.tunlet.to_owned(),
            event: name.to_owned(),
        })
    }

    /// Returns the position of an attribute in an event, if described.
    pub(crate) fn maybe_attribute(&self, event: usize, name: &str) -> Option<usize> {
        let attributes = &self.application.events[event].attributes;
        attributes.iter().position(|attribute| attribute.name == name)
    }

    /// Returns the position of an attribute in an event.
    pub(crate) fn attribute(&self, event: usize, name: &str) -> Result<usize, TunletError> {
        self.maybe_attribute(event, name).ok_or_else(|| TunletError::NoAttribute {
            tunlet: self.tunlet.to_owned(),
            event: self.application.events[event].name.clone(),
            attribute: name.to_owned(),
        })
    }

    /// Returns a tuning point.
    pub(crate) fn point(&self, name: &str) -> Result<KnownPoint, TunletError> {
        let position = self.application.tuning_points.iter().position(|point| point.name == name);
        let position = position.ok_or_else(|| TunletError::NoPoint {
            tunlet: self.tunlet.to_owned(),
            point: name.to_owned(),
        })?;
        Ok(KnownPoint::new(position, &self.application.tuning_points[position], self.world))
    }

    /// Returns the tuning points named in the option `points`, or those in `names` if it is not given.
    pub(crate) fn points(&self, names: &str) -> Result<Vec<KnownPoint>, TunletError> {
        let names = self.text("points").unwrap_or(names).split(',').map(str::trim);
        names.filter(|name| !name.is_empty()).map(|name| self.point(name)).collect()
    }

    /// Returns the raw text of an option.
    pub(crate) fn text(&self, option: &str) -> Option<&str> {
        self.application.tunlet_options.get(self.tunlet)?.get(option).map(String::as_str)
    }

    /// Returns a numeric option.
    pub(crate) fn number(
        &self,
        option: &str,
        default: f64,
        allowed: RangeInclusive<f64>,
    ) -> Result<f64, TunletError> {
        let Some(text) = self.text(option) else { return Ok(default) };
        let number = text.trim().parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| {
            let (low, high) = (allowed.start(), allowed.end());
            self.wrong(option, text, &format!("a number from {low} to {high}"))
        })
    }

    /// Returns an integer option.
    #[expect(clippy::cast_possible_truncation, reason = "inside the range given")]
    #[expect(clippy::cast_sign_loss, reason = "inside the range given")]
    pub(crate) fn count(
        &self,
        option: &str,
        default: u32,
        allowed: RangeInclusive<u32>,
    ) -> Result<usize, TunletError> {
        let (low, high) = (f64::from(*allowed.start()), f64::from(*allowed.end()));
        Ok(self.number(option, f64::from(default), low..=high)?.round() as usize)
    }

    /// Returns the index of the option's value in `words`; the first word is the default.
    pub(crate) fn word(&self, option: &str, words: &[&str]) -> Result<usize, TunletError> {
        let Some(text) = self.text(option) else { return Ok(0) };
        let position = words.iter().position(|word| *word == text.trim());
        position.ok_or_else(|| self.wrong(option, text, &format!("one of {}", words.join(", "))))
    }

    fn wrong(&self, option: &str, value: &str, expected: &str) -> TunletError {
        TunletError::Option {
            tunlet: self.tunlet.to_owned(),
            option: option.to_owned(),
            value: value.to_owned(),
            expected: expected.to_owned(),
        }
    }
}

/// Tuning point with its range and its last known or requested value.
#[derive(Clone, Debug)]
pub(crate) struct KnownPoint {
    /// Position in the description.
    pub(crate) position: usize,
    pub(crate) low: f64,
    pub(crate) high: f64,
    step: Option<f64>,
    is_whole: bool,
    /// Last known value, or the requested one while a request is pending.
    pub(crate) value: Option<f64>,
    /// Value before the pending request.
    before: Option<f64>,
    /// True if a request is neither carried out nor declined yet.
    pub(crate) is_waiting: bool,
    /// What earlier runs told about it.
    pub(crate) past: Past,
}

impl KnownPoint {
    fn new(position: usize, point: &TuningPoint, world: &World) -> Self {
        let value = world.values.get(position).copied().flatten();
        let is_whole = match point.kind {
            Some(kind) => !kind.is_float(),
            None => matches!(value, Some(Value::Int(_) | Value::Uint(_))),
        };
        let range = point.range;
        Self {
            position,
            low: range.map_or(0.0, |range| range.low),
            high: range.map_or(1.0, |range| range.high),
            step: range.and_then(|range| range.step).or(is_whole.then_some(1.0)),
            is_whole,
            value: value.map(Value::as_f64),
            before: None,
            is_waiting: false,
            past: point.past,
        }
    }

    /// Returns the allowed value nearest to `wished`.
    pub(crate) fn nearest(&self, wished: f64) -> f64 {
        let wished = wished.clamp(self.low, self.high);
        let Some(step) = self.step.filter(|step| 0.0 < *step) else { return wished };
        let n_steps = ((wished - self.low) / step).round();
        let n_steps_max = ((self.high - self.low) / step + 1e-9).floor();
        self.low + n_steps.min(n_steps_max) * step
    }

    /// Returns the smallest effective change, as a share of the range.
    pub(crate) fn grain(&self) -> f64 {
        let width = self.high - self.low;
        if 0.0 < width { self.step.map_or(0.0, |step| step / width).min(1.0) } else { 1.0 }
    }

    /// Converts an allowed value to the type used in the program.
    #[expect(clippy::cast_possible_truncation, reason = "whole, and inside the point's range")]
    fn typed(&self, allowed: f64) -> Value {
        if self.is_whole { Value::Int(allowed.round() as i64) } else { Value::Float(allowed) }
    }

    /// Returns the decision to set an allowed value; `reason` follows "because".
    pub(crate) fn ask(&mut self, allowed: f64, reason: &str) -> Decision {
        self.before = self.value;
        self.value = Some(allowed);
        self.is_waiting = true;
        let value = self.typed(allowed);
        Decision { point: self.position, value, reason: reason.to_owned() }
    }

    /// Records the new value.
    pub(crate) fn applied(&mut self, value: Value) {
        self.value = Some(value.as_f64());
        self.before = None;
        self.is_waiting = false;
    }

    /// Restores the value from before the declined request.
    pub(crate) fn declined(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            self.value = self.before.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(low: f64, high: f64, step: Option<f64>) -> KnownPoint {
        KnownPoint {
            position: 0,
            low,
            high,
            step,
            is_whole: false,
            value: None,
            before: None,
            is_waiting: false,
            past: Past::Unknown,
        }
    }

    #[track_caller]
    fn check(point: &KnownPoint, wished: f64, expected: f64) {
        assert!((point.nearest(wished) - expected).abs() < 1e-12, "{}", point.nearest(wished));
    }

    #[test]
    fn a_wish_becomes_the_nearest_value_allowed() {
        check(&point(0.05, 1.0, None), 2.0, 1.0);
        check(&point(0.05, 1.0, None), -2.0, 0.05);
        check(&point(0.05, 1.0, Some(0.05)), 0.52, 0.5);
        check(&point(1.0, 8.0, Some(3.0)), 8.0, 7.0);
        check(&point(1.0, 1.0, Some(1.0)), 8.0, 1.0);
    }
}
