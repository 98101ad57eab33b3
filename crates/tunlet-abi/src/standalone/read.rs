//! From C to Rust: the description and news.

use super::{Actor, Description, EventPoint, Moments, News, Point, Value, text};
use crate::abi;

/// A list of C; empty where it is null.
///
/// # Safety
/// `first` is null or the first of `n` valid elements that outlive the result.
unsafe fn list<'a, T>(first: *const T, n: u32) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(first, n as usize) }
}

fn optional(position: u32) -> Option<usize> {
    (position != abi::SINTONIA_NONE).then_some(position as usize)
}

/// # Safety
/// `description` is valid, with all it points to.
pub(super) unsafe fn description(description: *const abi::sintonia_description) -> Description {
    // SAFETY: the caller says so.
    let from = unsafe { &*description };
    // SAFETY: the lists of a description are as long as it says.
    let (actors, events) =
        unsafe { (list(from.actors, from.n_actors), list(from.events, from.n_events)) };
    // SAFETY: as above.
    let (points, options) =
        unsafe { (list(from.points, from.n_points), list(from.options, from.n_options)) };
    let start_and_end = optional(from.iteration_start).zip(optional(from.iteration_end));
    Description {
        // SAFETY: it is a text.
        program: unsafe { text(from.program) },
        n_ranks: from.n_ranks,
        // SAFETY: elements of a valid list.
        actors: actors.iter().map(|one| unsafe { actor(one) }).collect(),
        // SAFETY: as above.
        events: events.iter().map(|one| unsafe { event_point(one) }).collect(),
        // SAFETY: as above.
        points: points.iter().map(|one| unsafe { point(one) }).collect(),
        iteration: start_and_end,
        iteration_work: optional(from.iteration_work),
        // SAFETY: they are texts.
        options: options.iter().map(|one| unsafe { (text(one.name), text(one.text)) }).collect(),
    }
}

/// # Safety
/// `from` is valid, with all it points to.
unsafe fn actor(from: &abi::sintonia_actor) -> Actor {
    // SAFETY: the caller says so.
    let (name, ranks) = unsafe { (text(from.name), list(from.ranks, from.n_ranks)) };
    Actor { name, ranks: ranks.to_vec() }
}

/// # Safety
/// `from` is valid, with all it points to.
unsafe fn event_point(from: &abi::sintonia_event_point) -> EventPoint {
    // SAFETY: the caller says so.
    let attributes = unsafe { list(from.attributes, from.n_attributes) };
    EventPoint {
        // SAFETY: it is a text.
        name: unsafe { text(from.name) },
        actor: from.actor as usize,
        is_exit: from.place == abi::SINTONIA_EXIT,
        // SAFETY: it is a text.
        function: unsafe { text(from.function) },
        // SAFETY: they are texts.
        attributes: attributes.iter().map(|name| unsafe { text(*name) }).collect(),
    }
}

/// # Safety
/// `from` is valid, with all it points to.
unsafe fn point(from: &abi::sintonia_point) -> Point {
    Point {
        // SAFETY: it is a text.
        name: unsafe { text(from.name) },
        actor: from.actor as usize,
        range: from.has_range.then_some((from.low, from.high)),
        step: (from.step != 0.0).then_some(from.step),
        limit: from.limit,
        // SAFETY: it is there, and its kind says what it holds.
        value: from.has_value.then(|| unsafe { value(from.value) }),
    }
}

/// # Safety
/// `from.kind` says which number it holds.
unsafe fn value(from: abi::sintonia_value) -> Value {
    match from.kind {
        // SAFETY: the kind says so.
        abi::SINTONIA_INT => Value::Int(unsafe { from.number.int_value }),
        // SAFETY: the kind says so.
        abi::SINTONIA_UINT => Value::Uint(unsafe { from.number.uint_value }),
        // SAFETY: the kind says so.
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

/// The news, when they are of a kind that this version knows.
///
/// # Safety
/// `news` is valid, with all it points to.
pub(super) unsafe fn news(news: *const abi::sintonia_news) -> Option<News> {
    // SAFETY: the caller says so.
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
    // SAFETY: the caller says so.
    let values = unsafe { list(from.values, from.n_values) };
    News::Event {
        event: from.event as usize,
        rank: from.rank,
        thread: from.thread,
        time_s: from.time_s,
        // SAFETY: a host says in each which number it holds.
        values: values.iter().map(|one| unsafe { value(*one) }).collect(),
    }
}

/// # Safety
/// As for [`news`].
unsafe fn summary(from: &abi::sintonia_summary) -> News {
    // SAFETY: the caller says so.
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
    // SAFETY: the caller says so.
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
    // SAFETY: a host says in each which number it holds.
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
    // SAFETY: it is a text.
    News::Declined { point: from.point as usize, reason: unsafe { text(from.reason) } }
}
