//! The course of every method: who speaks when as what, and what comes out.

use super::*;
use expect_test::expect;

#[tokio::test(start_paused = true)]
async fn standard() {
    check(table("standard", 2), expect![[r#"
        == 1/5 Independent Answers: ada bob
        &ada answer: ada read 0
        &bob answer: bob read 0
        -- 1 to 2
        == 2/5 Structured Critique: ada bob
        &ada critique: agreements by ada who read 2 | disagreements by ada who read 2 | missing by ada who read 2
        &bob critique: agreements by bob who read 2 | disagreements by bob who read 2 | missing by bob who read 2
        -- 2 to 3
        == 3/5 Discussion: ada bob
        ada: ada read 3
        bob: bob read 4
        -- 3 to 4
        == 4/5 Final Positions: ada bob
        &ada position: position by ada who read 4 | High 80
        &bob position: position by bob who read 4 | High 80
        -- 4 to 5
        == 5/5 Synthesis: ada bob
        ada synthesis: YES after 8
           synthesis: synthesis by ada who read 2
           differences: differences by ada who read 2
           agreed: agreed by ada who read 2
           Evolution: evolution by ada who read 2
           sure: ada 80, bob 80
        => completed
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn oxford() {
    check(
        table("oxford", 4),
        expect![[r#"
            == 1/4 Opening Statements: ada bob cyd dan
            ada FOR opening: ada read 0
            bob AGAINST opening: bob read 0
            cyd FOR opening: cyd read 0
            dan AGAINST opening: dan read 0
            -- 1 to 2
            == 2/4 Rebuttals: ada bob cyd dan
            ada FOR rebuttal: ada read 4
            bob AGAINST rebuttal: bob read 4
            cyd FOR rebuttal: cyd read 6
            dan AGAINST rebuttal: dan read 6
            -- 2 to 3
            == 3/4 Closing Arguments: ada bob cyd dan
            ada FOR closing: ada read 8
            bob AGAINST closing: bob read 8
            -- 3 to 4
            == 4/4 Judgement: ada bob cyd dan
            ada synthesis: - after 10
               synthesis: synthesis by ada who read 10
               differences: differences by ada who read 10
               agreed: agreed by ada who read 10
               Evolution: evolution by ada who read 10
               Speakers: FOR 1: ada / AGAINST 1: bob / FOR 2: cyd / AGAINST 2: dan
               by one who debated
            => completed
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn advocate() {
    check(
        table("advocate", 3),
        expect![[r#"
            == 1/3 Initial Positions: ada bob cyd
            ada DEFENDER: ada read 0
            bob DEFENDER: bob read 0
            -- 1 to 2
            == 2/3 Cross-Examination: ada bob cyd
            cyd ADVOCATE: cyd read 2
            ada DEFENDER: ada read 2
            cyd ADVOCATE: cyd read 4
            bob DEFENDER: bob read 4
            cyd ADVOCATE: cyd read 6
            ada DEFENDER: ada read 6
            cyd ADVOCATE: cyd read 8
            bob DEFENDER: bob read 8
            -- 2 to 3
            == 3/3 Verdict: ada bob cyd
            cyd synthesis: PARTIAL after 10
               synthesis: verdict by cyd who read 10
               differences: unresolved by cyd who read 10
               agreed: survived by cyd who read 10
               Failed: failed by cyd who read 10
               Speakers: DEFENDER 1: ada / DEFENDER 2: bob / ADVOCATE 1: cyd
               by one who debated
            => completed
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn socratic() {
    check(
        table("socratic", 3),
        expect![[r#"
            == 1/3 Initial Thesis: ada bob cyd
            ada RESPONDENT: ada read 0
            -- 1 to 2
            == 2/3 Socratic Inquiry: ada bob cyd
            bob QUESTIONER: bob read 1
            ada RESPONDENT: ada read 2
            cyd QUESTIONER: cyd read 3
            ada RESPONDENT: ada read 4
            bob QUESTIONER: bob read 5
            ada RESPONDENT: ada read 6
            -- 2 to 3
            == 3/3 Aporia: ada bob cyd
            ada RESPONDENT: ada read 7
            bob QUESTIONER: bob read 7
            cyd QUESTIONER: cyd read 7
            ada synthesis: YES after 10
               synthesis: synthesis by ada who read 10
               differences: open questions by ada who read 10
               agreed: agreed by ada who read 10
               Evolution: evolution by ada who read 10
               Speakers: RESPONDENT 1: ada / QUESTIONER 1: bob / QUESTIONER 2: cyd
               by one who debated
            => completed
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn delphi() {
    check(table("delphi", 3), expect![[r#"
        == 1/4 Independent Estimates: ada bob cyd
        &ada PANELIST: 0 weeks | High 80
        &bob PANELIST: 0 weeks | High 80
        &cyd PANELIST: 0 weeks | High 80
        -- 1 to 2
        == 2/4 Informed Revision: ada bob cyd
        &ada PANELIST: 3 weeks | High 80
        &bob PANELIST: 3 weeks | High 80
        &cyd PANELIST: 3 weeks | High 80
        -- 2 to 3
        == 3/4 Final Revision: ada bob cyd
        &ada PANELIST: 6 weeks | High 80
        &bob PANELIST: 6 weeks | High 80
        &cyd PANELIST: 6 weeks | High 80
        -- 3 to 4
        == 4/4 Aggregation: ada bob cyd
        ada synthesis: YES after 9
           synthesis: synthesis by ada who read 9
           differences: differences by ada who read 9
           agreed: agreed by ada who read 9
           Evolution: evolution by ada who read 9
           Statistics: 3 of 3 panelists have given an estimate. Confidence: HIGH 3, MEDIUM 0, LOW 0, 80 of 100 on average. Figures: lowest 6, median 6, highest 6.
           Speakers: Panelist A: ada / Panelist B: bob / Panelist C: cyd
           sure: ada 80, bob 80, cyd 80
        => completed
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn brainstorm() {
    check(table("brainstorm", 2), expect![[r#"
        == 1/4 Diverge: ada bob
        &ada IDEATOR: 1. ada's first idea / 2. ada's second idea / ada read 0
        &bob IDEATOR: 1. bob's first idea / 2. bob's second idea / bob read 0
        -- 1 to 2
        == 2/4 Build: ada bob
        &ada IDEATOR: 1. ada's first idea / 2. ada's second idea / ada read 2
        &bob IDEATOR: 1. bob's first idea / 2. bob's second idea / bob read 2
        -- 2 to 3
        == 3/4 Converge: ada bob
        &ada IDEATOR: PICK 1: 1, says ada / PICK 2: 2, says ada / PICK 3: 3, says ada
        &bob IDEATOR: PICK 1: 1, says bob / PICK 2: 2, says bob / PICK 3: 3, says bob
        -- 3 to 4
        == 4/4 Idea Synthesis: ada bob
        ada synthesis: 3 SELECTED after 6
           synthesis: IDEA 1: idea 1 by ada who read 4 /  / IDEA 2: idea 2 by ada who read 4 /  / IDEA 3: idea 3 by ada who read 4
           differences: alternatives by ada who read 4
           Votes: 1. ada's first idea (ada): 2 picks, 6 points / 2. ada's second idea ada read 0 (ada): 2 picks, 4 points / 3. bob's first idea (bob): 2 picks, 2 points
        => completed
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn tradeoff() {
    check(table("tradeoff", 2), expect![[r#"
        == 1/4 Frame: ada bob
        &ada EVALUATOR: ALTERNATIVE A: Plan A: a plan of ada / ALTERNATIVE B: Plan B: a plan of ada / ALTERNATIVE C: Plan C: a plan of ada
        &bob EVALUATOR: ALTERNATIVE A: Plan A: a plan of bob / ALTERNATIVE B: Plan B: a plan of bob / ALTERNATIVE C: Plan C: a plan of bob
        -- 1 to 2
        == 2/4 Criteria: ada bob
        &ada EVALUATOR: CRITERION 1: Cost 1: a cost of ada / CRITERION 2: Cost 2: a cost of ada / CRITERION 3: Cost 3: a cost of ada / CRITERION 4: Cost 4: a cost of ada / CRITERION 5: Cost 5: a cost of ada / CRITERION 6: Cost 6: a cost of ada
        &bob EVALUATOR: CRITERION 1: Cost 1: a cost of bob / CRITERION 2: Cost 2: a cost of bob / CRITERION 3: Cost 3: a cost of bob / CRITERION 4: Cost 4: a cost of bob / CRITERION 5: Cost 5: a cost of bob / CRITERION 6: Cost 6: a cost of bob
        -- 2 to 3
        == 3/4 Evaluate: ada bob
        &ada EVALUATOR: SCORES:  / | | A | B | C | D | / |-|-|-|-|-| / | 1 | 8 | 6 | 4 | 2 | / REASONING: reasoning by ada who read 2
        &bob EVALUATOR: SCORES:  / | | A | B | C | D | / |-|-|-|-|-| / | 1 | 8 | 6 | 4 | 2 | / REASONING: reasoning by bob who read 2
        -- 3 to 4
        == 4/4 Decision: ada bob
        ada synthesis: YES after 6
           synthesis: RECOMMENDATION: recommendation by ada who read 4 /  / analysis by ada who read 4
           differences: tradeoffs by ada who read 4
           agreed: agreed by ada who read 4
           Scores: 1. Plan A: 8.0 of 10 / 2. Plan B: 6.0 of 10 / 3. Plan C: 4.0 of 10 / Criteria: Cost 1, Cost 2, Cost 3, Cost 4, Cost 5, Cost 6. Tables read: 2.
           When to choose differently: otherwise by ada who read 4
        => completed
    "#]]).await;
}
