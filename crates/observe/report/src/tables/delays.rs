//! Tables of a trace: causes of waiting, and the critical path.

use super::{Listing, Medium, share};
use crate::place;
use display::ink::Tone;
use display::table::{Cell, Table};
use run_record::Summary;
use run_record::summary::{Doing, RankTime};

pub(super) fn causes(summary: &Summary, medium: Medium) -> Listing {
    let delays = summary.delays.as_ref();
    let times = delays.map_or(&[][..], |delays| &delays.causes);
    let waiting_s = delays.map_or(0.0, |delays| delays.waiting_s);
    Listing {
        id: "causes",
        title: "What caused the waiting",
        note: "over all ranks, also through ranks that wait in turn",
        table: table(summary, medium, ("caused waiting", waiting_s), times),
        n_rows: times.len(),
        remarks: Vec::new(),
    }
}

pub(super) fn critical_path(summary: &Summary, medium: Medium) -> Listing {
    let times = summary.delays.as_ref().map_or(&[][..], |delays| &delays.critical_path);
    Listing {
        id: "critical-path",
        title: "Critical path",
        note: "what the end of the run depends on",
        table: table(summary, medium, ("time", summary.elapsed_s), times),
        n_rows: times.len(),
        remarks: Vec::new(),
    }
}

fn table(
    summary: &Summary,
    medium: Medium,
    (what, all_s): (&'static str, f64),
    times: &[RankTime],
) -> Table<String> {
    let has_worlds = 1 < summary.worlds.len();
    let call = |id: Option<usize>, missing: &str| {
        let call = id.and_then(|id| place::call(summary, id));
        call.unwrap_or_else(|| missing.to_owned())
    };
    Table::new(times.iter().take(medium.n_max(6, 100)))
        .right("world", |time| Cell::from(time.world.to_string()).tone(Tone::Dim))
        .when(has_worlds)
        .right("rank", |time| Cell::from(time.rank.to_string()).tone(Tone::Strong))
        .left("doing", |time| match time.doing {
            Doing::Computing => "computing before",
            Doing::Calling => "in",
        })
        .name("call", |time| Cell::from(call(time.to, "its end")).tone(Tone::Strong))
        .name("after", |time| match time.doing {
            Doing::Computing => Cell::from(call(time.from, "its start")),
            Doing::Calling => Cell::from(""),
        })
        .when(medium.is_wide())
        .right(what, |time| Cell::seconds(time.time_s))
        .right("share", |time| share(time.time_s, all_s))
        .with_rows(|_| String::new())
}
