//! Borrows places from Slurm and gives them back, without ranks: `lend N_RANKS SECONDS FOLDER`.
//!
//! Prints what it got, runs `hostname` there, and keeps the places until the folder contains a file `enough`.

#![allow(clippy::print_stdout, reason = "it says what it does")]

use malleable::manager::{Launcher, Manager, PlaceRequest, Reply, Slurm, SlurmJob, StartMethod};
use resize_plan::Placement;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let [n_ranks, patience_s, folder] = words.as_slice() else {
        return Err("usage: lend N_RANKS SECONDS FOLDER".into());
    };
    let job = SlurmJob::of(|name| std::env::var(name).ok(), Launcher::OpenMpi)?;
    let own = std::env::var("SLURMD_NODENAME")?;
    let present = vec![own; job.slots_per_node as usize];
    let patience = Duration::from_secs(patience_s.parse()?);
    let where_to = (Placement::Balance, present.as_slice());
    let mut slurm = Slurm::new(job, Launcher::OpenMpi, where_to, patience)?;
    let ticket =
        slurm.request(&PlaceRequest { n_ranks: n_ranks.parse()?, ..PlaceRequest::default() });
    let places = loop {
        match slurm.poll(ticket) {
            Reply::Pending(_) => std::thread::sleep(LOOK_EVERY),
            Reply::Granted(places) => break places,
            Reply::Refused(why) => {
                println!("refused: {why}");
                return Ok(());
            }
        }
    };
    for place in &places {
        let StartMethod::Through(words) = &place.start_method else {
            return Err("a rank needs a step".into());
        };
        let output = Command::new(&words[0]).args(&words[1..]).arg("hostname").output()?;
        let host = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        println!("{} ranks on {}, which is {host}", place.n_ranks, place.host);
    }
    println!("companions {}", slurm.companions().len());
    while !Path::new(folder).join("enough").exists() {
        std::thread::sleep(LOOK_EVERY);
    }
    places.iter().for_each(|place| slurm.give_back(&place.host, place.n_ranks));
    println!("companions {}", slurm.companions().len());
    Ok(())
}
