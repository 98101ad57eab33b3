//! Reads `[[tuning_point]]`.

use super::events::{read_actor, read_place};
use super::fields::{Fields, Findings, LocatedValue, Word, given};
use super::{Named, tables};
use crate::description::{Actor, ChangeKind, EventPoint, Past, Range, TuningPoint};
use events::{ProbePoint, Value, ValueType};
use toml::de::DeValue;

/// Default of `limit_percent`: slowdown in percent above which a change is undone.
const LIMIT_PERCENT_DEFAULT: f64 = 5.0;

pub(super) fn read<'a>(
    fields: &mut Fields<'a>,
    actors: &Named<Actor>,
    events: &Named<EventPoint>,
    findings: &mut Findings<'a>,
) -> Vec<TuningPoint> {
    let mut points = Named::new("tuning point");
    for (name, item) in tables(fields, "tuning_point", findings) {
        let point = read_point(name.as_ref(), item, actors, events, findings);
        if let Some(name) = name {
            points.add(&name, point, findings);
        }
    }
    points.items
}

fn read_point<'a>(
    name: Option<&Word<'a>>,
    mut item: Fields<'a>,
    actors: &Named<Actor>,
    events: &Named<EventPoint>,
    findings: &mut Findings<'a>,
) -> Option<TuningPoint> {
    let actor = read_actor(&mut item, actors, findings);
    let change = read_change(&mut item, name, findings);
    let kind = item.get("type").and_then(|node| findings.kind(&item.name_of("type"), node));
    let range = read_range(&mut item, change.as_ref(), kind, findings);
    let sync = read_sync(&mut item, events, findings);
    let is_forced = item.get("force").map(|node| findings.truth(&item.name_of("force"), node));
    let is_repeated = read_repeat(&mut item, change.as_ref(), findings);
    let limit_percent = read_limit(&mut item, findings);
    let line = findings.line(&item.at);
    item.finish(findings);
    let (sync_function, sync_place) = sync?;
    Some(TuningPoint {
        name: name?.text.to_owned(),
        actor: actor?,
        change: change?,
        kind,
        range,
        sync_function,
        sync_place,
        is_repeated,
        is_forced: is_forced.flatten().unwrap_or_default(),
        limit: limit_percent / 100.0,
        past: Past::Unknown,
        line,
    })
}

/// Reads the kind of change; the default is a variable with the name of the tuning point.
fn read_change<'a>(
    item: &mut Fields<'a>,
    name: Option<&Word<'a>>,
    findings: &mut Findings<'a>,
) -> Option<ChangeKind> {
    const KEYS: [&str; 4] = ["variable", "call", "load", "replace"];
    let given: Vec<&'static str> = KEYS.into_iter().filter(|key| item.get(key).is_some()).collect();
    match given[..] {
        [] => Some(ChangeKind::Variable(name?.text.to_owned())),
        ["replace"] => read_replacement(item, findings),
        [key] => {
            let word = item.word(key, findings)?.text.to_owned();
            Some(match key {
                "call" => ChangeKind::Call(word),
                "load" => ChangeKind::Load(word),
                _ => ChangeKind::Variable(word),
            })
        }
        _ => {
            let keys = given.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
            findings.error(&item.at, format!("{} has {keys}; keep one of them", item.what));
            None
        }
    }
}

fn read_replacement<'a>(item: &mut Fields<'a>, findings: &mut Findings<'a>) -> Option<ChangeKind> {
    let what = item.name_of("replace");
    let mut pair = Fields::of(what, item.get("replace")?, findings)?;
    let function = pair.need_word("function", "\"solve\"", findings);
    let by = pair.need_word("by", "\"solve_blocked\"", findings);
    let what = pair.name_of("by");
    pair.finish(findings);
    let by = by?;
    let is_named = ChangeKind::library_of(by.text)
        .is_none_or(|(library, name)| !library.is_empty() && !name.is_empty());
    if !is_named {
        let sentence = format!("{what} is `{}`; write `NAME` or `LIBRARY.so:NAME`", by.text);
        findings.error(&by.at, sentence);
        return None;
    }
    Some(ChangeKind::Replace { function: function?.text.to_owned(), by: by.text.to_owned() })
}

/// Reads the sync point: an event, or a function that need not have an event.
fn read_sync<'a>(
    item: &mut Fields<'a>,
    events: &Named<EventPoint>,
    findings: &mut Findings<'a>,
) -> Option<(String, ProbePoint)> {
    let node = item.need("at", "\"iteration_start\"", findings)?;
    let what = item.name_of("at");
    if matches!(node.get_ref(), DeValue::Table(_)) {
        let mut sync = Fields::of(what, node, findings)?;
        let function = sync.need_word("function", "\"solve\"", findings);
        let place = read_place(&mut sync, findings);
        sync.finish(findings);
        return Some((function?.text.to_owned(), place?));
    }
    let event = findings.word(&what, node)?;
    let position = events.find(&what, &event, findings)?;
    let event = &events.items[position];
    Some((event.function.clone(), event.place))
}

fn read_range<'a>(
    item: &mut Fields<'a>,
    change: Option<&ChangeKind>,
    kind: Option<ValueType>,
    findings: &mut Findings<'a>,
) -> Option<Range> {
    let (range, step) = (item.get("range"), item.get("step"));
    let is_switch = matches!(change?, ChangeKind::Load(_) | ChangeKind::Replace { .. });
    if let (true, Some(node)) = (is_switch, range.or(step)) {
        let sentence = "is a switch, 1 or 0; leave `range` and `step` out";
        findings.error(&node.span(), format!("{} {sentence}", item.what));
        return None;
    }
    if is_switch {
        return None;
    }
    let node = item.need("range", "[1, 64]", findings)?;
    let (low, high) = read_bounds(item, node, kind, findings)?;
    let step = step.map(|node| read_step(item, node, (low, high), kind, findings));
    Some(Range { low, high, step: step.flatten() })
}

fn read_bounds(
    item: &Fields<'_>,
    node: &LocatedValue<'_>,
    kind: Option<ValueType>,
    findings: &mut Findings<'_>,
) -> Option<(f64, f64)> {
    let what = item.name_of("range");
    let DeValue::Array(bounds) = node.get_ref() else {
        let given = given(node.get_ref());
        findings.error(&node.span(), format!("{what} is {given}; write `[lowest, highest]`"));
        return None;
    };
    let [low, high] = &bounds[..] else {
        let n = bounds.len();
        findings.error(&node.span(), format!("{what} has {n} values; write `[lowest, highest]`"));
        return None;
    };
    let (low, high) = (findings.number(&what, low), findings.number(&what, high));
    let (low, high) = (low?, high?);
    if high < low {
        let sentence =
            format!("{what} has no value: {low} is above {high}; write the lowest first");
        findings.error(&node.span(), sentence);
        return None;
    }
    if let Some((kind, bound)) = kind.and_then(|kind| Some((kind, misfit(kind, &[low, high])?))) {
        let name = kind.name();
        let sentence = format!("{what} has {bound}, which is no {name}; bring it into the type");
        findings.error(&node.span(), sentence);
    }
    Some((low, high))
}

/// Returns the first of the numbers that the type cannot hold.
pub(crate) fn misfit(kind: ValueType, numbers: &[f64]) -> Option<f64> {
    numbers.iter().copied().find(|number| kind.bits(Value::Float(*number)).is_none())
}

fn read_step(
    item: &Fields<'_>,
    node: &LocatedValue<'_>,
    (low, high): (f64, f64),
    kind: Option<ValueType>,
    findings: &mut Findings<'_>,
) -> Option<f64> {
    let what = item.name_of("step");
    let step = findings.number(&what, node)?;
    let must = if step <= 0.0 {
        "make it more than 0"
    } else if high - low < step {
        "make it smaller than the range"
    } else if kind.is_some_and(|kind| !kind.is_float()) && step.fract() != 0.0 {
        "make it whole, as the type is"
    } else {
        return Some(step);
    };
    findings.error(&node.span(), format!("{what} is {step}; {must}"));
    None
}

fn read_repeat<'a>(
    item: &mut Fields<'a>,
    change: Option<&ChangeKind>,
    findings: &mut Findings<'a>,
) -> bool {
    let what = item.name_of("repeat");
    let Some(node) = item.get("repeat") else { return false };
    let is_repeated = findings.truth(&what, node).unwrap_or_default();
    if let (true, Some(ChangeKind::Load(_) | ChangeKind::Replace { .. })) = (is_repeated, change) {
        let sentence = "but what it does lasts; leave `repeat` out";
        findings.error(&node.span(), format!("{what} is `true`, {sentence}"));
        return false;
    }
    is_repeated
}

fn read_limit<'a>(item: &mut Fields<'a>, findings: &mut Findings<'a>) -> f64 {
    let what = item.name_of("limit_percent");
    let given = item.get("limit_percent").and_then(|node| {
        let limit = findings.number(&what, node)?;
        let is_share = (0.0..=100.0).contains(&limit);
        if !is_share {
            findings.error(&node.span(), format!("{what} is {limit}; write 0 to 100"));
        }
        is_share.then_some(limit)
    });
    given.unwrap_or(LIMIT_PERCENT_DEFAULT)
}
