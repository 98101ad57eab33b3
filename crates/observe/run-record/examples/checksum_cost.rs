//! Compares the cost of a finished record's checksum with that of writing its events.

use events::RecordKind;
use run_record::{Event, RunRecord, RunStart};
use std::time::Instant;

const N_EVENTS: u32 = 5_000_000;
const N_TOGETHER: u32 = 100_000;

/// Event with random-looking numbers, so that the file is large.
fn event(number: u32) -> Event {
    let random = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let small = |random: u64| i32::try_from(random & 63).expect("below 64");
    let start_ns = 1_000_000 + 1_000 * u64::from(number) + (random >> 56);
    Event {
        world: 0,
        rank: number % 64,
        thread: 0,
        start_ns,
        end_ns: start_ns + (random >> 48),
        operation: mpi_abi::find("MPI_Send").expect("in the table"),
        call_site: Some(number % 8),
        peer: small(random >> 40),
        tag: small(random >> 32),
        communicator: 0,
        bytes: random >> 36,
        request: 0,
        more: 0,
        kind: RecordKind::from_number(0).expect("the first kind"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("checksum-cost-{}", std::process::id()));
    let mut record = RunRecord::create(&folder, RunStart::default())?;
    let started = Instant::now();
    let mut writer = record.event_writer()?;
    for first in (0..N_EVENTS).step_by(N_TOGETHER as usize) {
        let events: Vec<Event> = (first..first + N_TOGETHER).map(event).collect();
        writer.append(&events)?;
    }
    writer.finish()?;
    let written = started.elapsed();
    let n_bytes = std::fs::metadata(folder.join("events.parquet"))?.len();
    let started = Instant::now();
    record.finish()?;
    let finished = started.elapsed();
    std::fs::remove_dir_all(&folder)?;
    let share = 100.0 * finished.as_secs_f64() / written.as_secs_f64();
    let line = format!(
        "{N_EVENTS} events, {n_bytes} bytes: written in {written:.2?}, finished in {finished:.2?} ({share:.1} %)\n"
    );
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes())?;
    Ok(())
}
