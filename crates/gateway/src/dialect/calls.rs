//! Tool calls that arrive in fragments, joined.

use super::reader::Out;
use althing_stdx::{Fault, Kind, Result};

/// Calls of one answer; one more is an `Upstream` fault.
const CALLS_MAX: usize = 256;
/// Bytes of all arguments of one answer; more is an `Upstream` fault.
const ARGUMENTS_BYTES_MAX: usize = 8 << 20;

/// The calls of one answer, as far as they came.
#[derive(Default)]
pub(super) struct Calls {
    open: Vec<Open>,
    bytes: usize,
}

#[derive(Default)]
struct Open {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    /// Begins a call.
    pub(super) fn open(&mut self, index: Option<u64>, id: String, name: String) -> Result<()> {
        if self.open.len() == CALLS_MAX {
            let text = format!("the model asked for more than {CALLS_MAX} tools at once");
            return Err(Fault::new(Kind::Upstream, text));
        }
        self.open.push(Open { index, id, name, arguments: String::new() });
        Ok(())
    }

    /// A fragment of a call, whichever of its parts it brings.
    ///
    /// It goes on with the call of its index, unless it brings another id: some servers give all
    /// parallel calls index 0. Servers without indexes send calls whole, so a name begins one.
    pub(super) fn fragment(
        &mut self,
        index: Option<u64>,
        id: String,
        name: String,
        arguments: &str,
    ) -> Result<()> {
        let goes_on = |open: &Open| {
            let same_id = id.is_empty() || open.id.is_empty() || open.id == id;
            open.index == index && same_id && (index.is_some() || name.is_empty())
        };
        let at = match self.open.iter().rposition(goes_on) {
            Some(at) => at,
            None => {
                self.open(index, String::new(), String::new())?;
                self.open.len() - 1
            }
        };
        let open = &mut self.open[at];
        if open.id.is_empty() {
            open.id = id;
        }
        if open.name.is_empty() {
            open.name = name;
        }
        self.extend(at, arguments)
    }

    /// A fragment of the arguments of the call of this index; where none was opened it is dropped.
    pub(super) fn arguments(&mut self, index: Option<u64>, arguments: &str) -> Result<()> {
        match self.open.iter().rposition(|open| open.index == index) {
            Some(at) => self.extend(at, arguments),
            None => Ok(()),
        }
    }

    fn extend(&mut self, at: usize, arguments: &str) -> Result<()> {
        self.bytes += arguments.len();
        if self.bytes > ARGUMENTS_BYTES_MAX {
            let mib = ARGUMENTS_BYTES_MAX >> 20;
            let text = format!("the arguments of the model's tool calls exceed {mib} MiB");
            return Err(Fault::new(Kind::Upstream, text));
        }
        self.open[at].arguments.push_str(arguments);
        Ok(())
    }

    /// Says every call, in the order of their indexes.
    pub(super) fn close(&mut self, out: &mut Out) {
        self.open.sort_by_key(|open| open.index);
        for Open { id, name, arguments, .. } in self.open.drain(..) {
            out.call(id, name, arguments);
        }
    }
}
