//! Structs that derive `Element`: their layout, and how they are sent.

use master_worker::{
    Element, Field, FixedWidthNumber, Layout, Plain, ValueKind, from_bytes, to_bytes,
};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Part {
    weight: f32,
    kind: i16,
    unused: [u8; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Body {
    position: [f64; 2],
    parts: [[Part; 3]; 2],
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Pair(u32, [i16; 2]);

#[derive(Clone, Copy, Element)]
#[repr(C, packed)]
struct Tight {
    kind: u8,
    mass: f64,
}

fn layout<T: Element>() -> &'static Layout {
    match T::KIND {
        ValueKind::Struct(layout) => layout,
        ValueKind::Number(number) => unreachable!("a struct is no {number:?}"),
    }
}

#[track_caller]
fn check<T: Element>(extent_bytes: usize, fields: &[(&str, usize, ValueKind, usize)]) {
    let layout = layout::<T>();
    let described = |field: &Field| (field.name, field.offset_bytes, field.kind, field.n_values);
    let found: Vec<_> = layout.fields.iter().map(described).collect();
    assert_eq!((layout.extent_bytes, found.as_slice()), (extent_bytes, fields));
}

#[test]
fn fields_lie_where_c_puts_them() {
    let number = ValueKind::Number;
    let (real, byte, short) = (
        number(FixedWidthNumber::F32),
        number(FixedWidthNumber::U8),
        number(FixedWidthNumber::I16),
    );
    check::<Part>(8, &[("weight", 0, real, 1), ("kind", 4, short, 1), ("unused", 6, byte, 2)]);
    let (double, long) = (number(FixedWidthNumber::F64), number(FixedWidthNumber::U64));
    let parts = ValueKind::Struct(layout::<Part>());
    check::<Body>(
        72,
        &[("position", 0, double, 2), ("parts", 16, parts, 6), ("number", 64, long, 1)],
    );
    check::<Pair>(8, &[("0", 0, number(FixedWidthNumber::U32), 1), ("1", 4, short, 2)]);
    check::<Tight>(9, &[("kind", 0, byte, 1), ("mass", 1, double, 1)]);
}

#[test]
fn structs_arrive_as_they_were_sent() {
    let part = Part { weight: 0.5, kind: -3, unused: [0; 2] };
    let body = Body { position: [1.0, -2.0], parts: [[part; 3]; 2], number: 7 };
    let sent: Plain<Body> = (0..100).map(|number| Body { number, ..body }).collect();
    let bytes = to_bytes(&sent).unwrap();
    assert_eq!(bytes.len(), 100 * layout::<Body>().extent_bytes);
    assert_eq!(from_bytes::<Plain<Body>>(&bytes).unwrap(), sent);
}

#[test]
fn every_library_takes_their_layout() {
    for library in launch::Library::ALL {
        let ended = library.launch(1, &launch::example("datatypes")).run();
        assert_eq!(
            (ended.code, ended.stdout.trim()),
            (0, "datatypes are committed"),
            "{library:?}"
        );
    }
}
