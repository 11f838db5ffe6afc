use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::features::prototype::Encoder;
use crate::features::spec::Pairs;

/// Fitted functions of one entry of the feature list, for one kind of node or one relation.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FittedEntry {
    #[serde(rename = "owner")]
    pub(crate) scope: u16,
    pub(crate) encoder: Arc<dyn Encoder>,
    pub(crate) pairs: Pairs,
}
