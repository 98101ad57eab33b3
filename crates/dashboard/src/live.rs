//! The view while a run goes on.
