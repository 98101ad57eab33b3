//! Tunlet that answers every piece of news with a decision whose reason is the news itself: a reference for
//! the tests, and the shortest use of [`tunlet_abi::export!`].

use app_description::Application;
use events::Value;
use tunlets::{Decision, Detail, News, Requests, Tunlet, TunletError, TunletSpec, World};

/// The `echo` tunlet; see the module documentation.
#[derive(Debug, Default)]
pub struct Echo {
    begun: String,
}

impl Tunlet for Echo {
    fn spec(&self) -> TunletSpec {
        TunletSpec {
            name: "echo".into(),
            problem: "nobody answers".into(),
            needs_events: vec!["start".into()],
            needs_points: vec!["grain".into()],
            options: vec![("loud".into(), "how loud".into())],
        }
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        let options = application.tunlet_options.get("echo");
        if options.is_some_and(|options| options.get("loud").is_some_and(|loud| loud == "mute")) {
            return Err(TunletError::Unable { tunlet: "echo".into(), reason: "it is mute".into() });
        }
        self.begun = format!("{:?} {:?} {world:?}", application.iteration, options);
        let every_other = |idx| if idx % 2 == 0 { Detail::Every } else { Detail::Summary };
        Ok(Requests {
            events: (0..application.events.len()).map(every_other).collect(),
            performance: true,
            points: vec![0],
        })
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        let begun = std::mem::take(&mut self.begun);
        let reason = format!("{begun}{news:?}");
        decisions.push(Decision { point: 0, value: Value::Uint(u64::MAX), reason });
    }
}

tunlet_abi::export!(Echo);
