//! Conversion of the description and news from C to Rust.

use super::{Actor, Description, EventPoint, Moments, News, Point, Value, text};
use crate::abi;

/// Returns a list from C; empty if null.
///
/// # Safety
/// `first` is null or the first of `n` valid elements that outlive the result.
unsafe fn list<'a, T>(first: *const T, n: u32) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(first, n as usize) }
}

fn optional(position: u32) -> Option<usize> {
    (position != abi::SINTONIA_NONE).then_some(position as usize)
}

/// # Safety
/// `description` is valid, including everything it points to.
pub(super) unsafe fn description(description: *const abi::sintonia_description) -> Description {
    // SAFETY: guaranteed by the caller.
    let from = unsafe { &*description };
    // SAFETY: the lists of a description have the lengths given in it.
    let (actors, events) =
        unsafe { (list(from.actors, from.n_actors), list(from.events, from.n_events)) };
    // SAFETY: as above.
    let (points, options) =
        unsafe { (list(from.points, from.n_points), list(from.options, from.n_options)) };
    let start_and_end = optional(from.iteration_start).zip(optional(from.iteration_end));
    Description {
        // SAFETY: the pointer is a text.
        program: unsafe { text(from.program) },
        n_ranks: from.n_ranks,
        // SAFETY: the elements are from a valid list.
        actors: actors.iter().map(|one| unsafe { actor(one) }).collect(),
        // SAFETY: as above.
        events: events.iter().map(|one| unsafe { event_point(one) }).collect(),
        // SAFETY: as above.
        points: points.iter().map(|one| unsafe { point(one) }).collect(),
        iteration: start_and_end,
        iteration_work: optional(from.iteration_work),
        // SAFETY: the pointers are texts.
        options: options.iter().map(|one| unsafe { (text(one.name), text(one.text)) }).collect(),
    }
}

/// # Safety
/// `from` is valid, including everything it points to.
unsafe fn actor(from: &abi::sintonia_actor) -> Actor {
    // SAFETY: guaranteed by the caller.
    let (name, ranks) = unsafe { (text(from.name), list(from.ranks, from.n_ranks)) };
    Actor { name, ranks: ranks.to_vec() }
}

/// # Safety
/// `from` is valid, including everything it points to.
unsafe fn event_point(from: &abi::sintonia_event_point) -> EventPoint {
    // SAFETY: guaranteed by the caller.
    let attributes = unsafe { list(from.attributes, from.n_attributes) };
    EventPoint {
        // SAFETY: the pointer is a text.
        name: unsafe { text(from.name) },
        actor: from.actor as usize,
        is_exit: from.place == abi::SINTONIA_EXIT,
        // SAFETY: the pointer is a text.
        function: unsafe { text(from.function) },
        // SAFETY: the pointers are texts.
        attributes: attributes.iter().map(|name| unsafe { text(*name) }).collect(),
    }
}

/// # Safety
/// `from` is valid, including everything it points to.
unsafe fn point(from: &abi::sintonia_point) -> Point {
    Point {
        // SAFETY: the pointer is a text.
        name: unsafe { text(from.name) },
        actor: from.actor as usize,
        range: from.has_range.then_some((from.low, from.high)),
        step: (from.step != 0.0).then_some(from.step),
        limit: from.limit,
        // SAFETY: the value is set, and its kind tells which member it holds.
        value: from.has_value.then(|| unsafe { value(from.value) }),
    }
}

/// # Safety
/// `from.kind` tells which member `from.number` holds.
unsafe fn value(from: abi::sintonia_value) -> Value {
    match from.kind {
        // SAFETY: `kind` tells which member is set.
        abi::SINTONIA_INT => Value::Int(unsafe { from.number.int_value }),
        // SAFETY: `kind` tells which member is set.
        abi::SINTONIA_UINT => Value::Uint(unsafe { from.number.uint_value }),
        // SAFETY: `kind` tells which member is set.
        _ => Value::Float(unsafe { from.number.float_value }),
    }
}

pub(super) fn c_value(value: Value) -> abi::sintonia_value {
    let (kind, number) = match value {
        Value::Int(int_value) => (abi::SINTONIA_INT, abi::sintonia_number { int_value }),
        Value::Uint(uint_value) => (abi::SINTONIA_UINT, abi::sintonia_number { uint_value }),
        Value::Float(float_value) => (abi::SINTONIA_FLOAT, abi::sintonia_number { float_value }),
    };
    abi::sintonia_value { kind, number }
}

fn moments(from: &abi::sintonia_moments) -> Moments {
    let abi::sintonia_moments { n, mean, squares, min, max } = *from;
    Moments { n, mean, squares, min, max }
}

/// Returns the news, if they are of a kind known to this version.
///
/// # Safety
/// `news` is valid, including everything it points to.
pub(super) unsafe fn news(news: *const abi::sintonia_news) -> Option<News> {
    // SAFETY: guaranteed by the caller.
    let news = unsafe { &*news };
    // SAFETY: each pointer is null or valid.
    unsafe {
        let event = news.event.as_ref().map(|it| event(it));
        let summary = news.summary.as_ref().map(|it| summary(it));
        let iteration = news.iteration.as_ref().map(iteration);
        let performance = news.performance.as_ref().map(|it| performance(it));
        let applied = news.applied.as_ref().map(|it| applied(it));
        let declined = news.declined.as_ref().map(|it| declined(it));
        event.or(summary).or(iteration).or(performance).or(applied).or(declined)
    }
}

/// # Safety
/// As for [`news`].
unsafe fn event(from: &abi::sintonia_event) -> News {
    // SAFETY: guaranteed by the caller.
    let values = unsafe { list(from.values, from.n_values) };
    News::Event {
        event: from.event as usize,
        rank: from.rank,
        thread: from.thread,
        time_s: from.time_s,
        // SAFETY: a host sets in each value which member it holds.
        values: values.iter().map(|one| unsafe { value(*one) }).collect(),
    }
}

/// # Safety
/// As for [`news`].
unsafe fn summary(from: &abi::sintonia_summary) -> News {
    // SAFETY: guaranteed by the caller.
    let attributes = unsafe { list(from.attributes, from.n_attributes) };
    News::Summary {
        event: from.event as usize,
        n_ranks: from.n_ranks,
        span_s: (from.first_s, from.last_s),
        attributes: attributes.iter().map(moments).collect(),
        duration_s: moments(&from.duration_s),
    }
}

fn iteration(from: &abi::sintonia_iteration) -> News {
    let abi::sintonia_iteration { number, end_s, duration_s, work } = *from;
    News::Iteration { number, end_s, duration_s, work }
}

/// # Safety
/// As for [`news`].
unsafe fn performance(from: &abi::sintonia_performance) -> News {
    // SAFETY: guaranteed by the caller.
    let (useful_s, culprit) = unsafe { (list(from.useful_s, from.n_ranks), from.culprit.as_ref()) };
    News::Performance {
        span_s: (from.first_s, from.last_s),
        load_balance: from.load_balance,
        communication_efficiency: from.communication_efficiency,
        parallel_efficiency: from.parallel_efficiency,
        useful_s: useful_s.to_vec(),
        // SAFETY: its region is a text.
        culprit: culprit.map(|it| (it.rank, unsafe { text(it.region) }, it.above_s)),
    }
}

/// # Safety
/// As for [`news`].
unsafe fn applied(from: &abi::sintonia_applied) -> News {
    // SAFETY: a host sets in each value which member it holds.
    let (old, new) = unsafe { (value(from.old_value), value(from.new_value)) };
    News::Applied {
        point: from.point as usize,
        old,
        new,
        time_s: from.time_s,
        hit: from.hit,
        is_own: from.is_own,
    }
}

/// # Safety
/// As for [`news`].
unsafe fn declined(from: &abi::sintonia_declined) -> News {
    // SAFETY: the pointer is a text.
    News::Declined { point: from.point as usize, reason: unsafe { text(from.reason) } }
}
