//! Tunlets in shared libraries: the C interface, for those who write them and for those who load them.
