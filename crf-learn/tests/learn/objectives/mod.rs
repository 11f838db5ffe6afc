//! Tests of the room `objectives`.

mod gradient;
mod m_estimator;
mod merged;
mod optimum;
mod patches;
