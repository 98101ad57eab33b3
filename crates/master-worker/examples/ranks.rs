//! The tests that must hold on any ranks, on those of the launcher: `mpirun -n 3 ranks`.

#[path = "../tests/it/bodies.rs"]
mod bodies;

use comm::{CommError, MpiTransport, Transport};
use std::io::Write;
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(60);

fn main() -> Result<(), CommError> {
    let mut end = MpiTransport::init()?;
    let began_s = end.now_s();
    for (name, body) in bodies::all::<MpiTransport>() {
        body(&mut end);
        end.barrier(WAIT)?;
        if end.rank() == 0 {
            let passed_s = end.now_s() - began_s;
            let _written = writeln!(std::io::stdout(), "passed {name} after {passed_s:.2} s");
        }
    }
    end.leave(WAIT)
}
