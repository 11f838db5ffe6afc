//! Warnings that a piece of work logs.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Runs `f`, and returns its result with the messages of all warnings that it logged on this
/// thread.
pub fn warnings<R>(f: impl FnOnce() -> R) -> (R, Vec<String>) {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let result = tracing::subscriber::with_default(Listener(messages.clone()), f);
    let messages = std::mem::take(&mut *messages.lock().expect("a list of messages"));
    (result, messages)
}

struct Listener(Arc<Mutex<Vec<String>>>);

/// Message of an event.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").expect("text");
        }
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().expect("a list of messages").push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
