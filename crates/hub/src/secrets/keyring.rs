//! A small client of the Secret Service: keeps one key in the person's default keyring and finds it
//! again. It never asks the person for anything: a locked keyring is one that cannot be used.

use super::seal::KEY_BYTES;
use althing_stdx::{Fault, Kind, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::timeout;
use zbus::connection::Builder;
use zbus::message::Body;
use zbus::{Connection, DynamicType, ObjectPath, OwnedObjectPath, OwnedVariant, Type, Variant};

const BUS_NAME: &str = "org.freedesktop.secrets";
const SERVICE_PATH: &str = "/org/freedesktop/secrets";
const SERVICE: &str = "org.freedesktop.Secret.Service";
const COLLECTION: &str = "org.freedesktop.Secret.Collection";
const ITEM: &str = "org.freedesktop.Secret.Item";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
/// What is kept there ends with the person's session.
const SESSION_COLLECTION: &str = "/org/freedesktop/secrets/collection/session";
/// The path that means "none".
const NONE: &str = "/";
/// Everything together; a slower service counts as none.
const WAIT: Duration = Duration::from_secs(2);

/// Puts a key into the default keyring, and makes sure that it can be had back.
pub(super) async fn keep(bus: &str, id: &str, key: &[u8; KEY_BYTES]) -> Result<()> {
    within(async {
        let keyring = Keyring::connect(bus).await?;
        keyring.keep(id, key).await?;
        match keyring.find(id).await? {
            found if found == *key => Ok(()),
            _ => Err(Fault::internal("the keyring gave back another key")),
        }
    })
    .await
}

/// The key that was kept under `id`.
pub(super) async fn find(bus: &str, id: &str) -> Result<[u8; KEY_BYTES]> {
    within(async { Keyring::connect(bus).await?.find(id).await }).await
}

async fn within<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || Fault::new(Kind::Busy, format!("it did not answer within {WAIT:?}"));
    timeout(WAIT, work).await.unwrap_or_else(|_| Err(late()))
}

/// A session with the service. Plain: what passes over the bus of one person's own programs
/// needs no second cipher, and every one of them may ask the service anyway.
struct Keyring {
    bus: Connection,
    session: OwnedObjectPath,
}

/// A secret as the service moves it.
#[derive(Serialize, Deserialize, Type)]
struct Parcel {
    session: OwnedObjectPath,
    parameters: Vec<u8>,
    value: Vec<u8>,
    content_type: String,
}

impl Keyring {
    async fn connect(address: &str) -> Result<Keyring> {
        let bus = Builder::address(address).build().await.map_err(unreachable)?;
        let open = &("plain", Variant::from(""));
        let opened = call(&bus, SERVICE_PATH, SERVICE, "OpenSession", open).await?;
        let (_, session): (OwnedVariant, OwnedObjectPath) =
            opened.deserialize().map_err(unreachable)?;
        Ok(Keyring { bus, session })
    }

    async fn keep(&self, id: &str, key: &[u8; KEY_BYTES]) -> Result<()> {
        let collection = self.collection().await?;
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Variant::from("Althing: key of the secrets")),
            ("org.freedesktop.Secret.Item.Attributes", Variant::from(attributes(id))),
        ]);
        let parcel = Parcel {
            session: self.session.clone(),
            parameters: vec![],
            value: key.to_vec(),
            content_type: "application/octet-stream".into(),
        };
        let body = &(properties, parcel, false);
        let made = call(&self.bus, collection.as_str(), COLLECTION, "CreateItem", body).await?;
        let (item, _prompt): (OwnedObjectPath, OwnedObjectPath) =
            made.deserialize().map_err(unreachable)?;
        if item.as_str() == NONE { Err(locked()) } else { Ok(()) }
    }

    /// The default keyring, if it is open and outlives the session.
    async fn collection(&self) -> Result<OwnedObjectPath> {
        let found = call(&self.bus, SERVICE_PATH, SERVICE, "ReadAlias", &"default").await?;
        let path: OwnedObjectPath = found.deserialize().map_err(unreachable)?;
        if path.as_str() == NONE || path.as_str() == SESSION_COLLECTION {
            return Err(Fault::new(Kind::NotFound, "there is no default keyring"));
        }
        let wanted = &(COLLECTION, "Locked");
        let answer = call(&self.bus, path.as_str(), PROPERTIES, "Get", wanted).await?;
        let value: OwnedVariant = answer.deserialize().map_err(unreachable)?;
        if bool::try_from(value).map_err(unreachable)? { Err(locked()) } else { Ok(path) }
    }

    async fn find(&self, id: &str) -> Result<[u8; KEY_BYTES]> {
        let wanted = &attributes(id);
        let found = call(&self.bus, SERVICE_PATH, SERVICE, "SearchItems", wanted).await?;
        let (open, shut): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) =
            found.deserialize().map_err(unreachable)?;
        let item = open.first().ok_or_else(|| match shut.is_empty() {
            true => Fault::new(Kind::NotFound, "it holds no such key"),
            false => locked(),
        })?;
        let session = &ObjectPath::from(&self.session);
        let parcel = call(&self.bus, item.as_str(), ITEM, "GetSecret", session).await?;
        let parcel: Parcel = parcel.deserialize().map_err(unreachable)?;
        let key = parcel.value.try_into();
        key.map_err(|_| Fault::internal("what it holds is no key"))
    }
}

fn attributes(id: &str) -> HashMap<&str, &str> {
    HashMap::from([("application", "althing"), ("vault", id)])
}

async fn call<B>(bus: &Connection, at: &str, face: &str, method: &str, body: &B) -> Result<Body>
where
    B: Serialize + DynamicType,
{
    let answer = bus.call_method(Some(BUS_NAME), at, Some(face), method, body).await;
    Ok(answer.map_err(unreachable)?.body())
}

fn locked() -> Fault {
    Fault::new(Kind::Busy, "it is locked; unlock it and try again")
}

fn unreachable(error: impl std::fmt::Display) -> Fault {
    Fault::new(Kind::Busy, format!("it cannot be reached: {error}"))
}
