//! Checks before the program starts that a description has what a tunlet needs.

use crate::built_in::built_in;
use crate::tunlet::{TunletError, TunletSpec, World};
use app_description::{Application, nearest};

/// Number of ranks of the simulated run in which tunlets begin.
const N_RANKS: u32 = 64;

/// Lets a built-in tunlet begin in a simulated run; unknown names are accepted.
///
/// # Errors
/// The error that the tunlet would report at the start of the real run.
pub fn rehearse(name: &str, application: &Application) -> Result<(), TunletError> {
    let Some(mut tunlet) = built_in(name) else { return Ok(()) };
    check_options(&tunlet.spec(), application)?;
    let world = World::of(application, N_RANKS, vec![None; application.tuning_points.len()]);
    tunlet.begin(application, &world).map(|_| ())
}

/// Checks that the description has everything the tunlet says it needs, and only options it knows.
///
/// # Errors
/// The first thing that is missing or unknown.
pub fn check_needs(spec: &TunletSpec, application: &Application) -> Result<(), TunletError> {
    let tunlet = || spec.name.clone();
    for event in &spec.needs_events {
        if !application.events.iter().any(|one| one.name == *event) {
            return Err(TunletError::NoEvent { tunlet: tunlet(), event: event.clone() });
        }
    }
    for point in &spec.needs_points {
        if !application.tuning_points.iter().any(|one| one.name == *point) {
            return Err(TunletError::NoPoint { tunlet: tunlet(), point: point.clone() });
        }
    }
    check_options(spec, application)
}

fn check_options(spec: &TunletSpec, application: &Application) -> Result<(), TunletError> {
    let known: Vec<&str> = spec.options.iter().map(|(name, _)| name.as_str()).collect();
    let given = application.tunlet_options.get(&spec.name).into_iter().flatten();
    let unknown = given.map(|(option, _)| option).find(|option| !known.contains(&option.as_str()));
    unknown.map_or(Ok(()), |option| {
        let near = nearest(option, known.iter().copied());
        let remedy = match (near, &known[..]) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "it has none".to_owned(),
            (None, known) => format!("it has {}", known.join(", ")),
        };
        Err(TunletError::NoOption { tunlet: spec.name.clone(), option: option.clone(), remedy })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIPTION: &str = "
format = 1
program = 'p'
actors = { master = '0' }
[[event]]
name = 'e'
actor = 'master'
function = 'f'
at = 'entry'
[[tuning_point]]
name = 'chunk'
actor = 'master'
range = [1, 8]
at = 'e'
";

    fn described(options: &str) -> Application {
        let (application, problems) = app_description::read(&format!("{DESCRIPTION}{options}"));
        assert_eq!(problems, []);
        application.expect("a description without problems")
    }

    #[track_caller]
    fn check(tunlet: &str, options: &str, expected: &str) {
        let found = rehearse(tunlet, &described(options));
        let sentence = found.err().map_or_else(String::new, |error| error.to_string());
        assert!(
            sentence.contains(expected) && sentence.is_empty() == expected.is_empty(),
            "{sentence}"
        );
    }

    #[test]
    fn what_a_tunlet_would_say_at_the_start_is_known_before() {
        check("search", "", "");
        check("search", "[tunlet.search]\nrepeats = 5", "");
        check("search", "[tunlet.factoring]\nanything = 5", "");
        check("factoring", "", "needs the event `compute_end`");
        check("search", "[tunlet.search]\nrepeats = 0", "it must be a number from 1 to 99");
        check(
            "search",
            "[tunlet.search]\nrepeat = 5",
            "no option `repeat`; did you mean `repeats`?",
        );
        check("search", "[tunlet.search]\ncolor = 5", "no option `color`; it has points, ");
        check("search", "[tunlet.search]\npoints = 'x'", "needs the tuning point `x`");
    }

    #[test]
    fn what_a_library_says_that_it_needs_has_to_be_there() {
        let spec = |events: &[&str], points: &[&str]| TunletSpec {
            name: "own".to_owned(),
            needs_events: events.iter().map(ToString::to_string).collect(),
            needs_points: points.iter().map(ToString::to_string).collect(),
            ..TunletSpec::default()
        };
        let plain = described("");
        assert_eq!(check_needs(&spec(&["e"], &["chunk"]), &plain), Ok(()));
        let missing = |events: &[&str], points: &[&str]| {
            check_needs(&spec(events, points), &plain).unwrap_err().to_string()
        };
        assert!(missing(&["x"], &[]).contains("needs the event `x`"));
        assert!(missing(&[], &["y"]).contains("needs the tuning point `y`"));
        let optioned = described("[tunlet.own]\nz = 1");
        let sentence = check_needs(&spec(&[], &[]), &optioned).unwrap_err().to_string();
        assert!(sentence.ends_with("no option `z`; it has none"), "{sentence}");
    }
}
