//! Tests of the messages from outside.

mod client_protocol;
