//! Fault injection for tests: a process dies, hangs or refuses at a point that a variable names.
//!
//! `SINTONIA_MALLEABLE_FAULT=POINT:NUMBER:DEED` applies the deed to the participant with this number in a resize, the
//! first time that it reaches the point. Without the variable nothing happens.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const VARIABLE: &str = "SINTONIA_MALLEABLE_FAULT";

/// Point at which a fault can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FaultPoint {
    /// A source is about to start processes.
    Start,
    /// A process of a companion has said that it is there, and waits for the name of a port.
    Call,
    /// A new process is about to join.
    Come,
    /// The leaders of two groups have met, and are about to join; the number is that of the join.
    Join,
    /// All are joined, but not yet ready.
    Ready,
    /// Constant data begin to move.
    Move,
    /// The new size is about to begin.
    Switch,
    /// The new size has begun.
    Settle,
}

/// Kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Deed {
    /// The process dies at once.
    Die,
    /// The process is killed, as by `kill -9`.
    Kill,
    /// The process hangs forever.
    Hang,
    /// The process refuses the next action.
    Refuse,
    /// The processes that it starts never join.
    Sleep,
    /// The process continues after half a second.
    Wait,
}

const WAIT: Duration = Duration::from_millis(500);

static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Applies the fault set for this point and participant, and returns it; dying, hanging and waiting happen here.
pub(crate) fn at(point: FaultPoint, number: u32) -> Option<Deed> {
    static FAULT: OnceLock<Option<(FaultPoint, u32, Deed)>> = OnceLock::new();
    let fault = FAULT.get_or_init(|| parse(&std::env::var(VARIABLE).ok()?));
    let deed =
        fault.filter(|(place, who, _)| (*place, *who) == (point, number)).map(|(.., deed)| deed)?;
    if IS_DONE.swap(true, Ordering::AcqRel) {
        return None;
    }
    match deed {
        Deed::Die => std::process::abort(),
        Deed::Kill => {
            let own = std::process::id().to_string();
            // Without the command, the process hangs, and the test shows it.
            let _killed = std::process::Command::new("kill").args(["-KILL", &own]).spawn();
            hang()
        }
        Deed::Hang => hang(),
        Deed::Wait => {
            std::thread::sleep(WAIT);
            None
        }
        Deed::Refuse | Deed::Sleep => Some(deed),
    }
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

fn parse(text: &str) -> Option<(FaultPoint, u32, Deed)> {
    let mut words = text.split(':');
    let point = named(words.next()?)?;
    let number = words.next()?.parse().ok()?;
    Some((point, number, named(words.next()?)?))
}

fn named<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read() {
        assert_eq!(parse("start:3:refuse"), Some((FaultPoint::Start, 3, Deed::Refuse)));
        assert_eq!(parse("settle:0:die"), Some((FaultPoint::Settle, 0, Deed::Die)));
        assert_eq!(parse("never:0:die"), None);
        assert_eq!(parse("settle:0"), None);
        assert_eq!(parse(""), None);
    }
}
