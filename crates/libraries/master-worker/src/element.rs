//! Types that are sent as they lie in memory, and descriptions of their layout.

use bytemuck::Pod;
use comm::{FixedWidthNumber, ValueKind};

/// A number, an array of elements, or a struct of elements: the values of a [`Plain`](crate::Plain).
///
/// Derive it for structs:
///
/// ```
/// use master_worker::{Element, Plain};
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Body {
///     position: [f64; 2],
///     velocity: [f64; 2],
///     mass: f64,
/// }
///
/// let body = Body { position: [1.0, 2.0], velocity: [0.0; 2], mass: 5.0 };
/// let bodies: Plain<Body> = vec![body; 1000].into();
/// assert_eq!(bodies[999].position[1], 2.0);
/// ```
///
/// A type that cannot be sent this way is refused at compile time, with a message that names the field and the remedy:
///
/// ```compile_fail
/// # use master_worker::Element;
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Gap {
///     kind: u8,
///     mass: f64, // `Gap` has a gap before `mass`
/// }
/// ```
///
/// ```compile_fail
/// # use master_worker::Element;
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Gap {
///     mass: f64,
///     kind: u8, // `Gap` has a gap at its end
/// }
/// ```
///
/// ```compile_fail
/// # use master_worker::Element;
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Named {
///     name: String, // what a `String` holds lies elsewhere in memory
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use master_worker::Element;
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Inner(f64);
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Outer {
///     inner: Inner, // `Inner` cannot be sent as it lies in memory
/// }
/// ```
///
/// # MPI calls of your own
///
/// The derived [`KIND`](Self::KIND) describes the layout. [`Datatype`](crate::Datatype) makes an MPI datatype of it,
/// also for programs that call MPI themselves:
///
/// ```no_run
/// # use master_worker::{Datatype, Element};
/// # #[derive(Clone, Copy, Element)]
/// # #[repr(C)]
/// # struct Body(f64);
/// let datatype = Datatype::commit(Body::KIND)?;
/// // `datatype.handle()` is the `MPI_Datatype` for `MPI_Send` and its like.
/// # Ok::<(), comm::CommError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent as it lies in memory",
    label = "no number, no array of numbers, and no struct of them that derives `Element`",
    note = "put `#[derive(Clone, Copy, Element)]` and `#[repr(C)]` above the struct; or derive serde's \
            `Serialize` and `Deserialize` for the whole message: such a type is sent packed"
)]
pub trait Element: Pod {
    /// Layout of one value.
    const KIND: ValueKind;
    /// Number of such values side by side: more than one in an array.
    const N_VALUES: usize;
}

macro_rules! numbers {
    ($($number:ident $type:ty)*) => { $(
        impl Element for $type {
            const KIND: ValueKind = ValueKind::Number(FixedWidthNumber::$number);
            const N_VALUES: usize = 1;
        }
    )* };
}

numbers!(I8 i8 U8 u8 I16 i16 U16 u16 I32 i32 U32 u32 I64 i64 U64 u64 F32 f32 F64 f64);

impl<T: Element, const N: usize> Element for [T; N] {
    const KIND: ValueKind = T::KIND;
    const N_VALUES: usize = N * T::N_VALUES;
}

/// Names used by derived code.
#[doc(hidden)]
pub mod derived {
    pub use bytemuck::{Pod, Zeroable};
}
