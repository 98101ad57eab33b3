//! Test program: two ranks exchange structs by direct MPI calls, with a datatype made from a layout.
#![expect(unsafe_code, reason = "calls into the MPI library, as a program makes them")]
#![expect(clippy::print_stdout, reason = "the tests read it")]

use comm::{Datatype, Field, FixedWidthNumber, Layout, MpiTransport, Transport, ValueKind};
use mpi_abi::{Handle, LibraryFamily};
use std::error::Error;
use std::ffi::{CString, c_int, c_void};
use std::mem::offset_of;

/// A struct nested in the other one. Padding follows some fields and the end of both.
#[repr(C)]
struct Part {
    kind: u8,
    weight: i16,
    count: u16,
    rest: i8,
}

#[repr(C)]
struct Whole {
    flag: i8,
    position: [f64; 2],
    parts: [Part; 3],
    charge: f32,
    number: u64,
    step: i64,
    from: u32,
    to: i32,
    last: u8,
}

const fn field(
    name: &'static str,
    offset_bytes: usize,
    number: FixedWidthNumber,
    n_values: usize,
) -> Field {
    Field { name, offset_bytes, kind: ValueKind::Number(number), n_values }
}

const PART: Layout = Layout {
    fields: &[
        field("kind", offset_of!(Part, kind), FixedWidthNumber::U8, 1),
        field("weight", offset_of!(Part, weight), FixedWidthNumber::I16, 1),
        field("count", offset_of!(Part, count), FixedWidthNumber::U16, 1),
        field("rest", offset_of!(Part, rest), FixedWidthNumber::I8, 1),
    ],
    extent_bytes: size_of::<Part>(),
};

const PARTS: Field = Field {
    name: "parts",
    offset_bytes: offset_of!(Whole, parts),
    kind: ValueKind::Struct(&PART),
    n_values: 3,
};

const WHOLE: Layout = Layout {
    fields: &[
        field("flag", offset_of!(Whole, flag), FixedWidthNumber::I8, 1),
        field("position", offset_of!(Whole, position), FixedWidthNumber::F64, 2),
        PARTS,
        field("charge", offset_of!(Whole, charge), FixedWidthNumber::F32, 1),
        field("number", offset_of!(Whole, number), FixedWidthNumber::U64, 1),
        field("step", offset_of!(Whole, step), FixedWidthNumber::I64, 1),
        field("from", offset_of!(Whole, from), FixedWidthNumber::U32, 1),
        field("to", offset_of!(Whole, to), FixedWidthNumber::I32, 1),
        field("last", offset_of!(Whole, last), FixedWidthNumber::U8, 1),
    ],
    extent_bytes: size_of::<Whole>(),
};

/// Number of structs in a message.
const N: usize = 5;

type Sendrecv = unsafe extern "C" fn(
    *const c_void,
    c_int,
    usize,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    usize,
    c_int,
    c_int,
    usize,
    *mut c_void,
) -> c_int;

fn main() -> Result<(), Box<dyn Error>> {
    let end = MpiTransport::init()?;
    let own = u8::try_from(end.rank())?;
    let datatype = Datatype::commit(ValueKind::Struct(&WHOLE))?;
    let number = Datatype::commit(ValueKind::Number(FixedWidthNumber::F64))?;
    if number.handle() == datatype.handle() {
        return Err("two datatypes are one".into());
    }
    let sent = vec![own + 1; N * WHOLE.extent_bytes];
    let mut received = vec![own + 101; sent.len()];
    exchange(&datatype, c_int::from(1 - own), &sent, &mut received)?;
    let mut is_field = vec![false; WHOLE.extent_bytes];
    mark(&WHOLE, 0, &mut is_field);
    let expected =
        is_field.iter().cycle().map(|is_field| if *is_field { 2 - own } else { own + 101 });
    if !received.iter().copied().eq(expected.take(sent.len())) {
        return Err(format!("rank {own} received {received:?}").into());
    }
    println!("rank {own}: fields arrived, gaps are untouched");
    drop([datatype, number]);
    drop(end);
    // The transport has ended, but MPI ends only with the process.
    drop(Datatype::commit(ValueKind::Struct(&WHOLE))?);
    Ok(())
}

/// Marks the bytes of all fields.
fn mark(layout: &Layout, start: usize, is_field: &mut [bool]) {
    for field in layout.fields {
        for place in 0..field.n_values {
            let start = start + field.offset_bytes + place * field.kind.extent_bytes();
            match field.kind {
                ValueKind::Number(number) => is_field[start..start + number.n_bytes()].fill(true),
                ValueKind::Struct(layout) => mark(layout, start, is_field),
            }
        }
    }
}

/// Sends and receives `N` structs.
fn exchange(
    datatype: &Datatype,
    other: c_int,
    sent: &[u8],
    received: &mut [u8],
) -> Result<(), Box<dyn Error>> {
    let library = LibraryFamily::detect("", |name| symbol(name).is_ok()).ok_or("no library")?;
    let constants = library.constants();
    let world = match constants.comm_world {
        Handle::Value(value) => value as usize,
        Handle::AddressOf(name) => symbol(name)? as usize,
    };
    let address = symbol("MPI_Sendrecv")?;
    // SAFETY: the function of this name has this signature, when handles are registers.
    let sendrecv = unsafe { std::mem::transmute::<*mut c_void, Sendrecv>(address) };
    let (n, handle) = (c_int::try_from(N)?, datatype.handle());
    let (from, to) = (sent.as_ptr().cast(), received.as_mut_ptr().cast());
    let ignored = constants.status_ignore as *mut c_void;
    // SAFETY: both buffers have room for `N` structs.
    let code =
        unsafe { sendrecv(from, n, handle, other, 7, to, n, handle, other, 7, world, ignored) };
    if code == 0 { Ok(()) } else { Err(format!("`MPI_Sendrecv` returned {code}").into()) }
}

fn symbol(name: &str) -> Result<*mut c_void, Box<dyn Error>> {
    let text = CString::new(name)?;
    // SAFETY: a NUL-terminated string.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, text.as_ptr()) };
    if address.is_null() { Err(format!("no `{name}`").into()) } else { Ok(address) }
}
