//! Tests of the games of robots.
mod any_settings;
mod soccer;
mod tag;
