//! A program that ends while another process keeps the store to itself.

use super::*;

#[tokio::test]
async fn in_haste_nobody_waits_for_another_process() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (value, loss) = (json!(1), Loss::default());
    let mut waiting = Box::pin(store.set("key", &value));
    assert!(waiting.as_mut().now_or_never().is_none());
    store.hasten();
    let told = "another process keeps it locked, and there is no time to wait";
    check_fault(waiting.await, &path, &format!("busy: [data]/althing.db: {told}"));
    // Likewise what is still in line at the end.
    let [event] = &events("r1", [started("?")])[..] else { panic!() };
    drop(store.room().await.unwrap().append(&basket(event.clone()), &loss));
    drop(store);
    assert!(loss.get().unwrap().message.ends_with(told), "{loss:?}");
    raw.execute_batch("ROLLBACK").unwrap();
    assert_eq!(Store::open(&path).unwrap().get("key").await, Ok(None));
}
