//! Tests of the public interface: laws that hold for every policy, and the dialogs of each rule.

mod dialogs;
mod messages;
mod storms;
