//! Writes reports of made-up runs into a folder, for looking at them: `preview FOLDER`.

use dashboard::{html, sample};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let write = |name: &str, page: String| std::fs::write(Path::new(&folder).join(name), page);
    write("small.html", html::page(&sample::summary(), Some(&sample::timeline(8, 6_000))))?;
    write(
        "large.html",
        html::page(&sample::summary_of(16), Some(&sample::timeline(16, 1_000_000))),
    )?;
    write(
        "wide.html",
        html::page(&sample::summary_of(1024), Some(&sample::timeline(1024, 1_000_000))),
    )?;
    write("untraced.html", html::page(&sample::summary_of(48), None))
}
