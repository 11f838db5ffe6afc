//! Integration tests of the selectors, in one binary to link the toolkit once.
mod parts;
mod paths;
mod selectors;
