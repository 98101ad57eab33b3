//! Messages from outside: what is written is read, and nothing else breaks the reader.

mod damage;
mod messages;
mod round_trip;
mod samples;
