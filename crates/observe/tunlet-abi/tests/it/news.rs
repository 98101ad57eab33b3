//! A description, and news of every kind.

use app_description::{
    Actor, Application, AttributeSource, ChangeKind, EventAttribute, EventPoint, IterationMark,
    Range, RankSet, TuningPoint,
};
use events::{ProbePoint, Rank, Value};
use tunlets::{Applied, EventNews, IterationNews, Moments, News, Performance, SummaryNews, World};

pub(crate) fn event(name: &str, attributes: &[&str], place: ProbePoint) -> EventPoint {
    let attribute = |name: &&str| EventAttribute {
        name: (*name).into(),
        source: AttributeSource::Returned,
        kind: None,
        line: 1,
    };
    EventPoint {
        name: name.into(),
        actor: 1,
        function: "solve_step".into(),
        place,
        attributes: attributes.iter().map(attribute).collect(),
        line: 1,
    }
}

pub(crate) fn point(name: &str, range: Option<Range>) -> TuningPoint {
    TuningPoint {
        name: name.into(),
        actor: 0,
        change: ChangeKind::Variable(name.into()),
        kind: None,
        range,
        is_repeated: false,
        is_forced: false,
        sync_function: "solve_step".into(),
        sync_place: ProbePoint::Entry,
        limit: 0.05,
        line: 1,
    }
}

/// Returns a description with two actors, two events and two tuning points, and options for the tunlets of the tests.
pub(crate) fn application(options: &[(&str, &str, &str)]) -> Application {
    let actor = |name: &str, first, last| Actor {
        name: name.into(),
        ranks: RankSet { spans: vec![(first, last)] },
        line: 1,
    };
    let mut application = Application {
        program: "solver".into(),
        actors: vec![actor("master", 0, Some(0)), actor("worker", 1, None)],
        iteration: Some(IterationMark { start: 0, end: 1, work: Some(1) }),
        events: vec![
            event("start", &["n", "rows"], ProbePoint::Entry),
            event("step_end", &[], ProbePoint::Exit),
        ],
        tuning_points: vec![
            point("grain", Some(Range { low: 1.0, high: 64.0, step: Some(1.0) })),
            point("sweeps", Some(Range { low: 1.0, high: 9.0, step: None })),
        ],
        ..Application::default()
    };
    for (tunlet, option, text) in options {
        let of_tunlet = application.tunlet_options.entry((*tunlet).into()).or_default();
        of_tunlet.insert((*option).into(), (*text).into());
    }
    application
}

pub(crate) fn world() -> World {
    World {
        n_ranks: 3,
        actors: vec![vec![Rank(0)], vec![Rank(1), Rank(2)]],
        values: vec![Some(Value::Int(8)), Some(Value::Int(4))],
    }
}

pub(crate) fn passage(event: usize, rank: u32, time_s: f64) -> News {
    News::Event(EventNews { event, rank: Rank(rank), thread: 0, time_s, values: Vec::new() })
}

/// Returns news of every kind, with every optional part both present and absent.
pub(crate) fn of_every_kind() -> Vec<News> {
    let mut moments = Moments::default();
    [1.0, 2.5, 7.0].into_iter().for_each(|number| moments.add(number));
    let values = vec![Value::Int(-3), Value::Uint(u64::MAX), Value::Float(0.25)];
    let performance = Performance {
        span_s: (1.0, 2.0),
        load_balance: 0.5,
        communication_efficiency: 0.75,
        parallel_efficiency: 0.375,
        useful_s: vec![0.5, 1.0, 0.25],
        culprit: Some((Rank(1), "solve \"step\" → MPI_Wait".into(), 0.625)),
    };
    vec![
        News::Event(EventNews { event: 1, rank: Rank(2), thread: 3, time_s: 0.125, values }),
        News::Event(EventNews {
            event: 0,
            rank: Rank(0),
            thread: 0,
            time_s: 0.0,
            values: Vec::new(),
        }),
        News::Summary(SummaryNews {
            event: 1,
            span_s: (0.5, 1.5),
            n_ranks: 2,
            attributes: vec![moments, Moments::default()],
            duration_s: moments,
        }),
        News::Iteration(IterationNews { number: 1 << 40, end_s: 2.5, duration_s: 0.5, work: 8.0 }),
        News::Performance(Performance { culprit: None, useful_s: vec![], ..performance.clone() }),
        News::Performance(performance),
        News::Applied(Applied {
            point: 1,
            old: Value::Int(4),
            new: Value::Float(4.5),
            time_s: 3.25,
            hit: 17,
            is_own: true,
        }),
        News::Declined { point: 0, reason: "0 is below 1".into() },
    ]
}
