//! Conversion of the description and news to the structures of the C interface.

use crate::abi;
use app_description::{Application, EventPoint, TuningPoint};
use events::{ProbePoint, Value};
use std::any::Any;
use std::ffi::{CString, c_char};
use std::ptr;
use tunlets::{Applied, EventNews, IterationNews, Moments, News, Performance, SummaryNews, World};

/// Owner of texts and lists that were handed out as pointers: they stay at their addresses until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Arena {
    texts: Vec<CString>,
    lists: Vec<Box<dyn Any>>,
}

impl Arena {
    /// Stores a text for C, cut at its first zero byte.
    pub(super) fn text(&mut self, text: &str) -> *const c_char {
        let until_zero: Vec<u8> = text.bytes().take_while(|byte| *byte != 0).collect();
        let text = CString::new(until_zero).expect("no zero byte is left");
        let first = text.as_ptr();
        self.texts.push(text);
        first
    }

    /// Stores a list for C.
    pub(super) fn list<T: 'static>(&mut self, list: Vec<T>) -> *const T {
        // Moving a vector does not move its elements.
        let first = list.as_ptr();
        self.lists.push(Box::new(list));
        first
    }

    /// Stores a single value for C.
    pub(super) fn one<T: 'static>(&mut self, one: T) -> *const T {
        self.list(vec![one])
    }
}

/// Converts a position or count, which fits because it comes from a description written by hand.
fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(abi::SINTONIA_NONE)
}

/// Returns the description for the tunlet `name`.
pub(super) fn description(
    arena: &mut Arena,
    name: &str,
    application: &Application,
    world: &World,
) -> abi::sintonia_description {
    let actors = actors(arena, application, world);
    let events = application.events.iter().map(|event| event_point(arena, event));
    let events: Vec<_> = events.collect();
    let mut points = Vec::new();
    for (idx, one) in application.tuning_points.iter().enumerate() {
        points.push(point(arena, one, world.values.get(idx).copied().flatten()));
    }
    let options = application.tunlet_options.get(name).into_iter().flatten();
    let options = options.map(|(name, text)| abi::sintonia_setting {
        name: arena.text(name),
        text: arena.text(text),
    });
    let options: Vec<_> = options.collect();
    let iteration = application.iteration.as_ref();
    let or_none = |position: Option<usize>| position.map_or(abi::SINTONIA_NONE, number);
    abi::sintonia_description {
        program: arena.text(&application.program),
        n_ranks: world.n_ranks,
        n_actors: number(actors.len()),
        actors: arena.list(actors),
        n_events: number(events.len()),
        n_points: number(points.len()),
        events: arena.list(events),
        points: arena.list(points),
        iteration_start: or_none(iteration.map(|it| it.start)),
        iteration_end: or_none(iteration.map(|it| it.end)),
        iteration_work: or_none(iteration.and_then(|it| it.work)),
        n_options: number(options.len()),
        options: arena.list(options),
    }
}

fn actors(arena: &mut Arena, application: &Application, world: &World) -> Vec<abi::sintonia_actor> {
    let mut actors = Vec::new();
    for (idx, actor) in application.actors.iter().enumerate() {
        let ranks = world.actors.get(idx).map_or(&[][..], Vec::as_slice);
        let ranks: Vec<u32> = ranks.iter().map(|rank| rank.0).collect();
        actors.push(abi::sintonia_actor {
            name: arena.text(&actor.name),
            n_ranks: number(ranks.len()),
            ranks: arena.list(ranks),
        });
    }
    actors
}

fn event_point(arena: &mut Arena, event: &EventPoint) -> abi::sintonia_event_point {
    let names = event.attributes.iter().map(|attribute| arena.text(&attribute.name));
    let names: Vec<_> = names.collect();
    abi::sintonia_event_point {
        name: arena.text(&event.name),
        actor: number(event.actor),
        place: match event.place {
            ProbePoint::Entry => abi::SINTONIA_ENTRY,
            ProbePoint::Exit => abi::SINTONIA_EXIT,
        },
        function: arena.text(&event.function),
        n_attributes: number(names.len()),
        attributes: arena.list(names),
    }
}

fn point(arena: &mut Arena, point: &TuningPoint, now: Option<Value>) -> abi::sintonia_point {
    let range = point.range;
    abi::sintonia_point {
        name: arena.text(&point.name),
        actor: number(point.actor),
        has_range: range.is_some(),
        has_value: now.is_some(),
        low: range.map_or(0.0, |range| range.low),
        high: range.map_or(0.0, |range| range.high),
        step: range.and_then(|range| range.step).unwrap_or(0.0),
        limit: point.limit,
        value: value(now.unwrap_or(Value::Int(0))),
    }
}

fn value(value: Value) -> abi::sintonia_value {
    let (kind, number) = match value {
        Value::Int(int_value) => (abi::SINTONIA_INT, abi::sintonia_number { int_value }),
        Value::Uint(uint_value) => (abi::SINTONIA_UINT, abi::sintonia_number { uint_value }),
        Value::Float(float_value) => (abi::SINTONIA_FLOAT, abi::sintonia_number { float_value }),
    };
    abi::sintonia_value { kind, number }
}

/// Returns the news for C.
pub(super) fn news(arena: &mut Arena, news: &News) -> abi::sintonia_news {
    let mut all = abi::sintonia_news {
        event: ptr::null(),
        summary: ptr::null(),
        iteration: ptr::null(),
        performance: ptr::null(),
        applied: ptr::null(),
        declined: ptr::null(),
    };
    match news {
        News::Event(it) => all.event = event(arena, it),
        News::Summary(it) => all.summary = summary(arena, it),
        News::Iteration(it) => all.iteration = iteration(arena, it),
        News::Performance(it) => all.performance = performance(arena, it),
        News::Applied(it) => all.applied = applied(arena, it),
        News::Declined { point, reason } => {
            let reason = arena.text(reason);
            all.declined = arena.one(abi::sintonia_declined { point: number(*point), reason });
        }
    }
    all
}

fn event(arena: &mut Arena, from: &EventNews) -> *const abi::sintonia_event {
    let values: Vec<_> = from.values.iter().map(|one| value(*one)).collect();
    let event = abi::sintonia_event {
        event: number(from.event),
        rank: from.rank.0,
        thread: from.thread,
        n_values: number(values.len()),
        time_s: from.time_s,
        values: arena.list(values),
    };
    arena.one(event)
}

fn moments(from: &Moments) -> abi::sintonia_moments {
    let Moments { n, mean, squares, min, max } = *from;
    abi::sintonia_moments { n, mean, squares, min, max }
}

fn summary(arena: &mut Arena, from: &SummaryNews) -> *const abi::sintonia_summary {
    let attributes: Vec<_> = from.attributes.iter().map(moments).collect();
    let summary = abi::sintonia_summary {
        event: number(from.event),
        n_ranks: from.n_ranks,
        first_s: from.span_s.0,
        last_s: from.span_s.1,
        duration_s: moments(&from.duration_s),
        n_attributes: number(attributes.len()),
        attributes: arena.list(attributes),
    };
    arena.one(summary)
}

fn iteration(arena: &mut Arena, from: &IterationNews) -> *const abi::sintonia_iteration {
    let IterationNews { number, end_s, duration_s, work } = *from;
    arena.one(abi::sintonia_iteration { number, end_s, duration_s, work })
}

fn performance(arena: &mut Arena, from: &Performance) -> *const abi::sintonia_performance {
    let culprit = from.culprit.as_ref().map_or(ptr::null(), |(rank, region, above_s)| {
        let region = arena.text(region);
        arena.one(abi::sintonia_culprit { rank: rank.0, region, above_s: *above_s })
    });
    let performance = abi::sintonia_performance {
        first_s: from.span_s.0,
        last_s: from.span_s.1,
        load_balance: from.load_balance,
        communication_efficiency: from.communication_efficiency,
        parallel_efficiency: from.parallel_efficiency,
        n_ranks: number(from.useful_s.len()),
        useful_s: arena.list(from.useful_s.clone()),
        culprit,
    };
    arena.one(performance)
}

fn applied(arena: &mut Arena, from: &Applied) -> *const abi::sintonia_applied {
    arena.one(abi::sintonia_applied {
        point: number(from.point),
        hit: from.hit,
        old_value: value(from.old),
        new_value: value(from.new),
        time_s: from.time_s,
        is_own: from.is_own,
    })
}
