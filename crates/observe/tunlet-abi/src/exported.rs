//! Export of a Rust tunlet as a library: [`export!`](crate::export) for types that implement [`tunlets::Tunlet`].
//!
//! # Invariants
//! - Through the C interface, the tunlet receives exactly the same news as inside `sintonia`. Of the description
//!   it sees only what the interface carries, which excludes sources of attributes and kinds of changes.

use crate::standalone;
use app_description::{
    Actor, Application, AttributeSource, ChangeKind, EventAttribute, EventPoint, IterationMark,
    Past, Range, RankSet, TuningPoint,
};
use events::{ProbePoint, Rank, Value};
use tunlets::{
    Applied, Decision, Detail, EventNews, IterationNews, Moments, News, Performance, Requests,
    SummaryNews, Tunlet, World,
};

/// Exports a type that implements [`tunlets::Tunlet`] and `Default` as the tunlet of a library.
#[macro_export]
macro_rules! export {
    ($tunlet:ty) => {
        /// Entry point of the library; the host calls it once.
        #[unsafe(no_mangle)]
        pub extern "C" fn sintonia_tunlet_v1() -> *const $crate::abi::sintonia_tunlet {
            $crate::standalone::entry::<$crate::exported::Exported<$tunlet>>()
        }
    };
}

/// Adapts a [`tunlets::Tunlet`] to the C interface.
#[derive(Debug, Default)]
pub struct Exported<T> {
    tunlet: T,
}

impl<T: Tunlet + Default> standalone::Tunlet for Exported<T> {
    fn spec() -> standalone::Spec {
        let spec = T::default().spec();
        let leak = |text: String| -> &'static str { text.leak() };
        let leak_all = |texts: Vec<String>| -> &'static [&'static str] {
            texts.into_iter().map(leak).collect::<Vec<_>>().leak()
        };
        let options = spec.options.into_iter().map(|(name, text)| (leak(name), leak(text)));
        standalone::Spec {
            name: leak(spec.name),
            problem: leak(spec.problem),
            needs_events: leak_all(spec.needs_events),
            needs_points: leak_all(spec.needs_points),
            options: options.collect::<Vec<_>>().leak(),
        }
    }

    fn begin(
        &mut self,
        description: &standalone::Description,
    ) -> Result<standalone::Requests, String> {
        let name = self.tunlet.spec().name;
        let begun = self.tunlet.begin(&application(&name, description), &world(description));
        begun.map(requests).map_err(|error| error.to_string())
    }

    fn hear(&mut self, heard: &standalone::News, decisions: &mut Vec<standalone::Decision>) {
        let mut ours = Vec::new();
        self.tunlet.hear(&news(heard), &mut ours);
        decisions.extend(ours.into_iter().map(decision));
    }
}

fn application(name: &str, from: &standalone::Description) -> Application {
    let actor = |actor: &standalone::Actor| Actor {
        name: actor.name.clone(),
        ranks: RankSet { spans: actor.ranks.iter().map(|rank| (*rank, Some(*rank))).collect() },
        line: 0,
    };
    Application {
        libraries: Vec::new(),
        program: from.program.clone(),
        actors: from.actors.iter().map(actor).collect(),
        iteration: from.iteration.map(|(start, end)| IterationMark {
            start,
            end,
            work: from.iteration_work,
        }),
        iteration_call: None,
        events: from.events.iter().map(event_point).collect(),
        tuning_points: from.points.iter().map(tuning_point).collect(),
        tunlet_options: [(name.to_owned(), from.options.clone())].into(),
    }
}

fn event_point(from: &standalone::EventPoint) -> EventPoint {
    let attribute = |name: &String| EventAttribute {
        name: name.clone(),
        source: AttributeSource::Variable(String::new()),
        kind: None,
        line: 0,
    };
    EventPoint {
        name: from.name.clone(),
        actor: from.actor,
        function: from.function.clone(),
        place: if from.is_exit { ProbePoint::Exit } else { ProbePoint::Entry },
        attributes: from.attributes.iter().map(attribute).collect(),
        line: 0,
    }
}

fn tuning_point(from: &standalone::Point) -> TuningPoint {
    TuningPoint {
        name: from.name.clone(),
        actor: from.actor,
        change: ChangeKind::Variable(String::new()),
        kind: None,
        range: from.range.map(|(low, high)| Range { low, high, step: from.step }),
        is_repeated: false,
        is_forced: false,
        sync_function: String::new(),
        sync_place: ProbePoint::Entry,
        limit: from.limit,
        past: Past::Unknown,
        line: 0,
    }
}

fn world(from: &standalone::Description) -> World {
    let ranks = |actor: &standalone::Actor| actor.ranks.iter().copied().map(Rank).collect();
    World {
        n_ranks: from.n_ranks,
        actors: from.actors.iter().map(ranks).collect(),
        values: from.points.iter().map(|point| point.value.map(value)).collect(),
    }
}

fn value(from: standalone::Value) -> Value {
    match from {
        standalone::Value::Int(whole) => Value::Int(whole),
        standalone::Value::Uint(whole) => Value::Uint(whole),
        standalone::Value::Float(number) => Value::Float(number),
    }
}

fn requests(from: Requests) -> standalone::Requests {
    let detail = |detail| match detail {
        Detail::None => standalone::Detail::None,
        Detail::Every => standalone::Detail::Every,
        Detail::Summary => standalone::Detail::Summary,
    };
    standalone::Requests {
        events: from.events.into_iter().map(detail).enumerate().collect(),
        performance: from.performance,
        points: from.points,
    }
}

fn decision(from: Decision) -> standalone::Decision {
    let value = match from.value {
        Value::Int(whole) => standalone::Value::Int(whole),
        Value::Uint(whole) => standalone::Value::Uint(whole),
        Value::Float(number) => standalone::Value::Float(number),
    };
    standalone::Decision { point: from.point, value, reason: from.reason }
}

fn moments(from: &standalone::Moments) -> Moments {
    let standalone::Moments { n, mean, squares, min, max } = *from;
    Moments { n, mean, squares, min, max }
}

fn news(from: &standalone::News) -> News {
    match from.clone() {
        standalone::News::Event { event, rank, thread, time_s, values } => {
            let values = values.into_iter().map(value).collect();
            News::Event(EventNews { event, rank: Rank(rank), thread, time_s, values })
        }
        standalone::News::Summary { event, n_ranks, span_s, attributes, duration_s } => {
            let attributes = attributes.iter().map(moments).collect();
            let duration_s = moments(&duration_s);
            News::Summary(SummaryNews { event, span_s, n_ranks, attributes, duration_s })
        }
        standalone::News::Iteration { number, end_s, duration_s, work } => {
            News::Iteration(IterationNews { number, end_s, duration_s, work })
        }
        standalone::News::Performance {
            span_s,
            load_balance,
            communication_efficiency,
            parallel_efficiency,
            useful_s,
            culprit,
        } => News::Performance(Performance {
            span_s,
            load_balance,
            communication_efficiency,
            parallel_efficiency,
            useful_s,
            culprit: culprit.map(|(rank, region, above_s)| (Rank(rank), region, above_s)),
            usage: Vec::new(),
        }),
        standalone::News::Applied { point, old, new, time_s, hit, is_own } => {
            let (old, new) = (value(old), value(new));
            News::Applied(Applied { point, old, new, time_s, hit, is_own })
        }
        standalone::News::Declined { point, reason } => News::Declined { point, reason },
    }
}
