//! Providers that are files on this machine.

use super::Service;
use super::providers::checked_name;
use super::words::{AddLocal, Added, ProviderKind};
use crate::local::ModelFile;
use crate::log::now_ms;
use crate::store::{NewProvider, Stored};
use althing_gateway::LOCAL_FILE;
use althing_stdx::text::one_line;
use althing_stdx::{Fault, Result};
use std::path::Path;

/// Characters of a wrong path that are repeated.
const SHOWN_CHARS_MAX: usize = 200;

impl Service {
    /// Looks at the file and keeps where it is. It is loaded when it is first asked.
    pub async fn add_local(&self, wanted: AddLocal) -> Result<Added> {
        let name = checked_name(&wanted.name)?;
        let path = Path::new(&wanted.model_path);
        if !path.is_absolute() {
            let wrong = one_line(&wanted.model_path, SHOWN_CHARS_MAX);
            return Err(Fault::invalid(format!("model_path: must begin with /, not '{wrong}'")));
        }
        let file = ModelFile::inspect(path).await?;
        let new = NewProvider {
            name,
            kind: ProviderKind::Local,
            row: LOCAL_FILE.name.into(),
            base_url: None,
            local_path: Some(file.text()?),
        };
        let now_ms = now_ms() as i64;
        let row = self.store.add_provider(new, now_ms).await?;
        self.keep_list(&row.id, &[self.library.means().runners.list(&file)]).await?;
        let row = Stored { enabled: true, checked_at_ms: Some(now_ms), ..row };
        self.store.update_provider(&row).await?;
        self.library.reload().await?;
        Ok(Added { provider_id: row.id, note: self.library.means().runners.trouble() })
    }
}
