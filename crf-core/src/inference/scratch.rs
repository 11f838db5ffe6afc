use std::any::Any;

/// Memory that a worker keeps between calls, so that no algorithm allocates in its loop.
///
/// Each algorithm keeps one value of a type of its own here: core knows none of them.
#[derive(Default)]
pub struct Scratch {
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Scratch {
    /// Empty scratch memory.
    pub fn new() -> Self {
        Scratch::default()
    }

    /// This worker's value of type `W`, made by `Default` when it is first asked for.
    pub fn of<W: Any + Default + Send + Sync>(&mut self) -> &mut W {
        let index = self.kept.iter().position(|kept| kept.is::<W>()).unwrap_or_else(|| {
            self.kept.push(Box::<W>::default());
            self.kept.len() - 1
        });
        self.kept[index].downcast_mut().expect("the value was found by its type")
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scratch({} kept)", self.kept.len())
    }
}
