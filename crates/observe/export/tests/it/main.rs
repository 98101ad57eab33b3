//! Tests of the exports through the public API, on a small trace of three ranks.

#[cfg(test)]
mod chrome;
#[cfg(test)]
mod paraver;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod simgrid;
