"""Tests of the package with real daemons, which the test `python_client` of the crate `cli` starts."""
