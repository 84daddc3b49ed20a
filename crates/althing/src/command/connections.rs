//! `connections`: who uses the running service.

use super::reach::Reach;
use super::{Desk, print};
use crate::args::Connections;
use crate::terminal::table::table;
use althing_hub::service::words::ConnectionInfo;
use althing_stdx::{Fault, Kind, Result};

pub async fn connections(action: Connections) -> Result<()> {
    let desk = Desk::open();
    let Reach::There(client) = desk.reach().await? else {
        let text = "no service is running on this session bus; `althing serve` starts one";
        return Err(Fault::new(Kind::NotFound, text));
    };
    match action {
        Connections::List { json } => {
            let all = client.connections().await?;
            print(&if json { all.iter().map(line).collect() } else { shown(&all) })
        }
        Connections::Close { connection } => {
            client.close_connection(&connection).await?;
            print(&format!("{connection} is closed.\n"))
        }
    }
}

fn shown(all: &[ConnectionInfo]) -> String {
    let head = ["ID", "CLIENT", "FACE", "REQUESTS"].map(String::from).to_vec();
    let rows = all.iter().map(|it| {
        let (id, name) = (it.connection_id.clone(), it.client_name.clone());
        vec![id, name, it.face.to_string(), it.requests_count.to_string()]
    });
    table(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

fn line(it: &ConnectionInfo) -> String {
    let line = serde_json::json!({
        "connection_id": it.connection_id, "client_name": it.client_name,
        "face": it.face, "requests_count": it.requests_count,
    });
    format!("{line}\n")
}
