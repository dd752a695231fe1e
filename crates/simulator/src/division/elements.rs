//! What has to be in one part together.

/// Sets of elements that must be in one part.
pub struct Sets(pub Vec<u32>);

impl Sets {
    pub fn of(&mut self, mut element: usize) -> usize {
        while self.0[element] as usize != element {
            self.0[element] = self.0[self.0[element] as usize];
            element = self.0[element] as usize;
        }
        element
    }

    pub fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other)] = one.min(other) as u32;
    }
}

/// Places of elements in [`Sets`]: where directions begin, where they end, ends of connections.
pub struct Elements {
    pub directions: usize,
}

impl Elements {
    pub fn far(&self, direction: usize) -> usize {
        self.directions + direction
    }

    pub fn end(&self, kind: usize, side: usize) -> usize {
        2 * self.directions + 2 * kind + side
    }
}
