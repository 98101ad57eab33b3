//! What a node knows and decides, without threads, clocks, files or sockets.

pub mod words;
