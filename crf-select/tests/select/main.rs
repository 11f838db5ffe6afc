//! Selectors, held to what they promise.
mod parts;
mod paths;
mod selectors;
