//! Test program for one rank: `comm_ranks SCENARIO`, started by an MPI launcher.
#![allow(clippy::print_stdout, reason = "the tests read it")]
#![allow(clippy::print_stderr, reason = "the tests read it")]

#[path = "../tests/it/scenarios.rs"]
mod scenarios;

use comm::{MpiTransport, RankStart, Tag, Transport, netbench};
use scenarios::{Outcome, SOON, ensure, next};
use std::process::ExitCode;

fn main() -> ExitCode {
    let scenario = std::env::args().nth(1).unwrap_or_default();
    match run(&scenario) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(scenario: &str) -> Outcome {
    let mut end = match scenario {
        "grow" | "grown" => MpiTransport::init_to_grow()?,
        _ => MpiTransport::init()?,
    };
    let first_says = |end: &MpiTransport, line: String| {
        if end.rank() == 0 {
            println!("{line}");
        }
    };
    match scenario {
        "all" => {
            scenarios::take_part(&mut end)?;
            first_says(&end, format!("{} ranks did everything", end.n_ranks()));
        }
        "leave" => {
            end.leave(SOON)?;
            first_says(&end, format!("{} ranks left", end.n_ranks()));
        }
        "panic" => fail(&mut end)?,
        "elastic" | "added" => elastic(&mut end)?,
        "stay" | "staying" => stay(&mut end)?,
        "many" => many(&mut end)?,
        "grow" | "grown" => grow(&mut end)?,
        "netbench" => network(&mut end)?,
        "lost" | "losing" => lose(&mut end)?,
        other => return Err(format!("there is no scenario `{other}`").into()),
    }
    Ok(())
}

/// The last rank fails while the others wait for it.
fn fail(end: &mut MpiTransport) -> Outcome {
    #[expect(clippy::panic, reason = "that is the scenario")]
    if end.rank() + 1 == end.n_ranks() {
        panic!("as intended");
    }
    end.barrier(SOON)?;
    Ok(())
}

fn start(scenario: &str) -> Result<RankStart, Box<dyn std::error::Error>> {
    let mut start = RankStart::this_program()?;
    start.arguments = vec![scenario.into()];
    Ok(start)
}

/// Rank 0 adds ranks, exchanges messages with them and releases them; the others take part in collectives.
fn elastic(end: &mut MpiTransport) -> Outcome {
    if end.rank() != 0 {
        return serve(end);
    }
    let n_launched = end.n_ranks();
    let start = start("added")?;
    let first = end.spawn(&start, SOON)?;
    let second = end.spawn(&start, SOON)?;
    ensure((first, second) == (n_launched, n_launched + 1), || format!("{first} {second}"))?;
    talk(end)?;
    let_go(end, first)?;
    ensure(!end.is_present(first) && end.is_present(second), || "presence".to_owned())?;
    talk(end)?;
    let third = end.spawn(&start, SOON)?;
    ensure(third == n_launched + 2, || format!("{third} is a number that was used"))?;
    talk(end)?;
    for rank in 1..end.n_ranks() {
        if n_launched <= rank && end.is_present(rank) {
            let_go(end, rank)?;
        } else if rank < n_launched {
            end.send(rank, Tag(0), &[])?;
        }
    }
    end.leave(SOON)?;
    println!("all came and went");
    Ok(())
}

fn let_go(end: &mut MpiTransport, rank: u32) -> Outcome {
    end.send(rank, Tag(0), &[])?;
    end.release(rank, SOON)?;
    Ok(())
}

/// Exchanges short and long messages with all ranks, then a broadcast and a barrier.
fn talk(end: &mut MpiTransport) -> Outcome {
    let present: Vec<u32> = (1..end.n_ranks()).filter(|rank| end.is_present(*rank)).collect();
    for (tag, n_bytes) in [(1, 10), (2, 300_000)] {
        for rank in &present {
            end.send(*rank, Tag(tag), &[&rank.to_le_bytes(), &vec![7; n_bytes]])?;
        }
        let mut answered: Vec<u32> = Vec::new();
        for _ in &present {
            let (from, _, bytes) = next(end, None)?;
            ensure(bytes.len() == n_bytes + 8, || format!("{} bytes", bytes.len()))?;
            ensure(bytes.starts_with(&from.to_le_bytes()), || "another's message".to_owned())?;
            ensure(bytes.ends_with(&from.to_le_bytes()), || "another's answer".to_owned())?;
            answered.push(from);
        }
        answered.sort_unstable();
        ensure(answered == present, || format!("{answered:?} answered"))?;
    }
    for rank in &present {
        end.send(*rank, Tag(3), &[])?;
    }
    end.broadcast(0, &mut vec![9; 5000], SOON)?;
    end.barrier(SOON)?;
    Ok(())
}

/// The other side of `talk`, until it is told to leave.
fn serve(end: &mut MpiTransport) -> Outcome {
    loop {
        let (from, tag, bytes) = next(end, None)?;
        match tag {
            Tag(0) => return Ok(end.leave(SOON)?),
            Tag(3) => {
                let mut shared = Vec::new();
                end.broadcast(0, &mut shared, SOON)?;
                ensure(shared == vec![9; 5000], || format!("{} shared bytes", shared.len()))?;
                end.barrier(SOON)?;
            }
            tag => end.send(from, tag, &[&bytes, &end.rank().to_le_bytes()])?,
        }
    }
}

/// Added ranks and the rank that added them end without leaving.
fn stay(end: &mut MpiTransport) -> Outcome {
    if end.rank() == 0 {
        end.spawn(&start("staying")?, SOON)?;
        end.spawn(&start("staying")?, SOON)?;
        println!("the end with 2 added ranks");
    }
    Ok(())
}

/// One rank after another is added, exchanges messages and leaves.
fn many(end: &mut MpiTransport) -> Outcome {
    if end.rank() != 0 {
        return serve(end);
    }
    let start = start("many")?;
    for turn in 0..20 {
        let rank = end.spawn(&start, SOON)?;
        ensure(rank == 1 + turn, || format!("number {rank} in turn {turn}"))?;
        talk(end)?;
        let_go(end, rank)?;
    }
    end.leave(SOON)?;
    println!("20 came and went");
    Ok(())
}

/// Ranks are added in parallel, twice, and all of them exchange messages.
fn grow(end: &mut MpiTransport) -> Outcome {
    if end.rank() != 0 {
        return serve(end);
    }
    let n_launched = end.n_ranks();
    let starts = vec![start("grown")?; 3];
    for turn in 0..2 {
        let added: Vec<u32> =
            end.spawn_all(&starts, SOON)?.into_iter().collect::<Result<_, _>>()?;
        let first = n_launched + 3 * turn;
        ensure(added == [first, first + 1, first + 2], || format!("{added:?} in turn {turn}"))?;
        talk(end)?;
    }
    let present: Vec<u32> = (1..end.n_ranks()).filter(|rank| end.is_present(*rank)).collect();
    for rank in present {
        end.send(rank, Tag(0), &[])?;
    }
    end.leave(SOON)?;
    println!("3 and 3 came side by side");
    Ok(())
}

/// An added rank is killed.
fn lose(end: &mut MpiTransport) -> Outcome {
    if end.rank() != 0 {
        let pid = std::process::id().to_string();
        let mut kill = std::process::Command::new("kill");
        kill.args(["-9", &pid]).status()?;
        return Ok(());
    }
    let lost = end.spawn(&start("losing")?, SOON)?;
    let mut bytes = Vec::new();
    let received = end.receive(Some(lost), SOON / 4, &mut bytes);
    let sent = end.send(lost, Tag(1), &[&[0; 100_000]]);
    println!("{received:?} {sent:?}");
    Ok(())
}

/// Times messages between ranks 0 and 1.
fn network(end: &mut MpiTransport) -> Outcome {
    match end.rank() {
        0 => {
            let plan = netbench::NetbenchPlan::default();
            let model = netbench::measure(end, 1, &plan)?.ok_or("too little was timed")?;
            for piece in &model.pieces {
                eprintln!("{piece:?}");
            }
            let lengths = model.samples.iter().map(|sample| sample.n_bytes);
            ensure(lengths.eq(plan.lengths), || "other lengths".to_owned())?;
            let (short_s, long_s) = (model.one_way_s(8), model.one_way_s(4 << 20));
            ensure(0.0 < short_s && short_s < long_s, || format!("{short_s} s, {long_s} s"))?;
            println!("lengths up to 4 MiB were timed");
        }
        1 => netbench::answer(end, 0)?,
        _ => {}
    }
    Ok(end.leave(SOON)?)
}
