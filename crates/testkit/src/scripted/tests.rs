//! Scripts in, deltas and the stage's log out.

use super::{How, Scripted, Stage, Step, Step::*};
use althing_chat::{Answer, Ask, Model, Stop};
use althing_stdx::Kind;
use expect_test::{Expect, expect};
use futures_util::{StreamExt, future::join_all};
use std::{fmt::Write, time::Duration};

/// Plays one turn to its end, or for a minute, and shows every item with the time.
async fn check(turn: Vec<Step>, want: Expect) {
    let stage = Stage::default();
    let start = tokio::time::Instant::now();
    let mut speaking = Scripted::new("ada", [turn]).on(&stage).speak(Ask::new("", "Why?"));
    let mut shown = String::new();
    let listen = async {
        while let Some(item) = speaking.next().await {
            let ms = start.elapsed().as_millis();
            match item {
                Ok(delta) => {
                    writeln!(shown, "{ms}ms {}", serde_json::to_string(&delta).unwrap()).unwrap();
                }
                Err(fault) => writeln!(shown, "{ms}ms {}: {fault}", fault.kind).unwrap(),
            }
        }
    };
    let heard = tokio::time::timeout(Duration::from_secs(60), listen).await;
    shown += if heard.is_ok() { "over\n" } else { "silence\n" };
    drop(speaking);
    want.assert_eq(&(shown + "--\n" + &stage.log()));
}

#[tokio::test(start_paused = true)]
async fn every_step() {
    check(
        vec![Queue, Wait(2), Start, Retry, Think("hm"), Say("yes "), WaitMs(50), UsageOf(3, 1)],
        expect![[r#"
            0ms "queued"
            2000ms "started"
            2000ms {"retrying":{"attempt":1,"wait_ms":100,"kind":"rate_limited","message":"wait"}}
            2100ms {"reasoning":"hm"}
            2100ms {"text":"yes "}
            2150ms {"usage":{"input":3,"output":1}}
            2150ms {"stop":"end"}
            over
            --
            0ms ada starts
            2150ms ada ends
        "#]],
    )
    .await;
    check(
        vec![Call("look", "{}"), Call("see", "{}")],
        expect![[r#"
            0ms {"tool_call":{"id":"call-1","name":"look","arguments":"{}"}}
            0ms {"tool_call":{"id":"call-2","name":"see","arguments":"{}"}}
            0ms {"stop":"tool_calls"}
            over
            --
            0ms ada starts
            0ms ada ends
        "#]],
    )
    .await;
    check(
        vec![SayText("a".repeat(3)), Refuse, Say("never")],
        expect![[r#"
            0ms {"text":"aaa"}
            0ms {"stop":"refused"}
            over
            --
            0ms ada starts
            0ms ada ends
        "#]],
    )
    .await;
    check(
        vec![Say("much"), End(Stop::Length)],
        expect![[r#"
            0ms {"text":"much"}
            0ms {"stop":"length"}
            over
            --
            0ms ada starts
            0ms ada ends
        "#]],
    )
    .await;
    check(
        vec![Say("half"), Fail(Kind::Overloaded, "too busy"), Say("never")],
        expect![[r#"
            0ms {"text":"half"}
            0ms overloaded: too busy
            over
            --
            0ms ada starts
            0ms ada fails
        "#]],
    )
    .await;
    check(
        vec![Say("half"), Cut, Say("never")],
        expect![[r#"
            0ms {"text":"half"}
            over
            --
            0ms ada starts
            0ms ada breaks off
        "#]],
    )
    .await;
    check(
        vec![Say("half"), Hang],
        expect![[r#"
            0ms {"text":"half"}
            silence
            --
            0ms ada starts
            60000ms ada is dropped
        "#]],
    )
    .await;
    check(
        vec![],
        expect![[r#"
            0ms {"stop":"end"}
            over
            --
            0ms ada starts
            0ms ada ends
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_stage_sees_order_and_parallelism() {
    let stage = Stage::default();
    let ada = Scripted::new("ada", [vec![WaitMs(50), Say("a")], vec![Say("b")]]).on(&stage);
    let bob = Scripted::from_fn("bob", |ask, nth| {
        vec![WaitMs(20), SayText(format!("{nth} {}", ask.messages[0].text))]
    });
    let bob = bob.on(&stage);
    let models: [&dyn Model; 3] = [&ada, &bob, &bob];
    let say = |model: &&dyn Model| Answer::collect(model.speak(Ask::new("", "why")));
    let answers = join_all(models.iter().map(say)).await;
    let texts: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().text).collect();
    assert_eq!(texts, ["a", "0 why", "1 why"]);
    assert_eq!(say(&models[0]).await.unwrap().text, "b");
    assert_eq!((stage.peak(), stage.calls().len()), (3, 4));
    expect![[r#"
        0ms ada starts
        0ms bob starts
        0ms bob starts
        20ms bob ends
        20ms bob ends
        50ms ada ends
        50ms ada starts
        50ms ada ends
    "#]]
    .assert_eq(&stage.log());
}

#[tokio::test(start_paused = true)]
async fn asks_are_kept_with_their_ends() {
    let ada = Scripted::new("ada", [vec![WaitMs(5)], vec![Hang]]);
    Answer::collect(ada.speak(Ask::new("be brief", "one"))).await.unwrap();
    let hung = ada.speak(Ask::new("", "two"));
    assert_eq!(ada.asks()[1].end, None);
    drop(hung);
    let asks = ada.asks();
    assert_eq!((asks[0].ask.system().as_str(), asks[0].start_ms), ("be brief", 0));
    assert_eq!(asks[0].end.map(|end| (end.ms, end.how)), Some((5, How::Stopped)));
    assert!(asks[1].dropped() && !asks[0].dropped());
    let over = Answer::collect(ada.speak(Ask::new("", "three"))).await.unwrap_err();
    assert_eq!((over.kind, over.message.as_str()), (Kind::Internal, "script of ada is over"));
}
