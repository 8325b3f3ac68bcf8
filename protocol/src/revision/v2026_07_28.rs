//! 2026-07-28: what is in memory, without what this revision took out of 2025-11-25.

use super::step::Adapter;
use crate::model::{ClientCapabilities, ElicitParams, ServerCapabilities, Tool};

pub(super) struct V2026_07_28;

impl Adapter for V2026_07_28 {
    /// Tasks became an extension, and roots no longer announce their changes.
    fn client_capabilities(&self, it: &mut ClientCapabilities) {
        it.tasks = None;
        if let Some(roots) = &mut it.roots {
            roots.list_changed = None;
        }
    }

    fn server_capabilities(&self, it: &mut ServerCapabilities) {
        it.tasks = None;
    }

    fn tool(&self, it: &mut Tool) {
        it.execution = None;
    }

    fn elicit(&self, it: &mut ElicitParams) -> Result<(), &'static str> {
        if let ElicitParams::Url(page) = it {
            page.elicitation_id = None;
        }
        Ok(())
    }
}
