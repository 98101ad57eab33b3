//! Describes derived structs to the MPI library of the launcher: `mpirun -n 2 datatypes`.

use comm::{CommError, MpiTransport};
use master_worker::{Datatype, Element};
use std::io::Write;

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Part {
    weight: f32,
    kind: i16,
    unused: [u8; 2],
}

#[derive(Clone, Copy, Element)]
#[repr(C)]
struct Body {
    position: [f64; 2],
    parts: [Part; 3],
    number: u64,
}

fn main() -> Result<(), CommError> {
    let _end = MpiTransport::init()?;
    let (body, numbers) = (Datatype::commit(Body::KIND)?, Datatype::commit(<[f64; 4]>::KIND)?);
    if body.handle() != numbers.handle() {
        let _written = writeln!(std::io::stdout(), "datatypes are committed");
    }
    Ok(())
}
