//! The rules from outside: laws that hold for every policy.

mod messages;
