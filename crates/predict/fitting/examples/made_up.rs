//! Writes synthetic measurements and the results expected from them: `made_up FOLDER [SEED]`.
//!
//! `measured.json` is a file that Extra-P reads; `unseen.json` lists points with their true times.
#![allow(clippy::unwrap_used, reason = "a program for measuring stops where it cannot go on")]
#![allow(dead_code, reason = "shared with tests that use more")]

#[path = "../tests/it/synthetic.rs"]
mod synthetic;

use fitting::formats::extrap_json;
use std::{fs, path::PathBuf};
use synthetic::{Mix, Recipe};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let seed = arguments.next().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let set = Recipe::new(seed, Mix::Sized).set();
    let mut unseen = Vec::new();
    for (series, points) in set.measured.series.iter().zip(&set.unseen) {
        for (at, truth) in points {
            unseen.push(serde_json::json!({"region": series.region, "point": at, "truth": truth}));
        }
    }
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("measured.json"), extrap_json::write(&set.measured).unwrap()).unwrap();
    fs::write(folder.join("unseen.json"), serde_json::to_string(&unseen).unwrap()).unwrap();
}
