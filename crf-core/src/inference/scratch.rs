use std::any::Any;

/// Memory that a worker keeps between calls, so that algorithms allocate nothing in their loops.
///
/// Each algorithm keeps one value of a type of its own, which core does not know.
#[derive(Default)]
pub struct Scratch {
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Scratch {
    /// Creates empty scratch memory.
    pub fn new() -> Self {
        Scratch::default()
    }

    /// Value of type `W` of this worker, created by `Default` at the first call.
    pub fn get<W: Any + Default + Send + Sync>(&mut self) -> &mut W {
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
