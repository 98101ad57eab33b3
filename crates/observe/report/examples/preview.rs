//! Writes reports of sample runs into a folder, for visual checks: `preview FOLDER`.

use report::{html, sample};
use run_record::Summary;
use run_record::summary::Traffic;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let write = |name: &str, page: String| std::fs::write(Path::new(&folder).join(name), page);
    let tuned = Summary { tuning: Some(sample::tuning()), ..sample::summary() };
    write("tuned.html", html::page(&tuned, None))?;
    let dealt = Summary { dealt: Some(sample::dealt(7, 60)), resizes: sample::resizes(), ..tuned };
    write("dealt.html", html::page(&dealt, None))?;
    write("small.html", html::page(&sample::summary(), Some(&sample::timeline(8, 6_000))))?;
    write(
        "large.html",
        html::page(&sample::summary_of(16), Some(&sample::timeline(16, 1_000_000))),
    )?;
    write(
        "wide.html",
        html::page(&sample::summary_of(1024), Some(&sample::timeline(1024, 1_000_000))),
    )?;
    write("dense.html", html::page(&dense(), None))?;
    write("untraced.html", html::page(&sample::summary_of(48), None))
}

/// Returns a run in which every rank sends to every other.
fn dense() -> Summary {
    let message = |from: u32, to: u32| Traffic {
        world: 0,
        from,
        to,
        messages: 100 + u64::from(from),
        bytes: 1 << (from.abs_diff(to) % 30),
    };
    let pairs = (0..1024).flat_map(|from| (0..1024).map(move |to| message(from, to)));
    Summary { traffic: pairs.collect(), ..sample::summary_of(1024) }
}
