//! Tests of encoding and decoding: what is encoded is decoded, and other bytes do no harm.

mod messages;
mod round_trip;
mod samples;
