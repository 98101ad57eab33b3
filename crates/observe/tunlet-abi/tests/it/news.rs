//! A description, and news of every kind.

use app_description::Application;
use events::{Rank, Value};
use tunlets::{Applied, EventNews, IterationNews, Moments, News, Performance, SummaryNews, World};

const DESCRIPTION: &str = "
format = 1
program = 'solver'
actors = { master = '0', worker = '1-', first_worker = '1' }
iteration = { start = 'start', end = 'step_end', work = 'rows' }
event = [
  { name = 'start', actor = 'first_worker', function = 'solve_step', at = 'entry', attributes = ['n', 'rows'] },
  { name = 'step_end', actor = 'first_worker', function = 'solve_step', at = 'exit' },
]
tuning_point = [
  { name = 'grain', actor = 'master', range = [1, 64], step = 1, at = 'start' },
  { name = 'sweeps', actor = 'master', range = [1, 9], at = 'start' },
]
";

/// Returns a description with three actors, two events and two tuning points, and options for the tunlets of the tests.
pub(crate) fn application(options: &[(&str, &str, &str)]) -> Application {
    let (application, problems) = app_description::read(DESCRIPTION);
    assert_eq!(problems, []);
    let mut application = application.expect("a description without problems");
    for (tunlet, option, text) in options {
        let of_tunlet = application.tunlet_options.entry((*tunlet).into()).or_default();
        of_tunlet.insert((*option).into(), (*text).into());
    }
    application
}

pub(crate) fn world() -> World {
    World {
        n_ranks: 3,
        actors: vec![vec![Rank(0)], vec![Rank(1), Rank(2)], vec![Rank(1)]],
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
        usage: Vec::new(),
    };
    vec![
        News::Event(EventNews { event: 1, rank: Rank(2), thread: 3, time_s: 0.125, values }),
        passage(0, 0, 0.0),
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
