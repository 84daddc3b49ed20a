//! The table of methods: names, seats, roles.

use super::*;
use crate::event::Roles;
use expect_test::expect;

#[test]
fn methods_their_phases_and_roles() {
    let lines = ALL.iter().map(|method| {
        let roles = (method.roles)(4).into_iter().map(|(role, seats)| format!("{role} {seats:?}"));
        format!(
            "{}: {} ({})\n",
            method.name,
            method.phases.join(", "),
            roles.collect::<Vec<_>>().join(" ")
        )
    });
    expect![[r#"
        standard: Independent Answers, Structured Critique, Discussion, Final Positions, Synthesis ()
        oxford: Opening Statements, Rebuttals, Closing Arguments, Judgement (FOR [0, 2] AGAINST [1, 3])
        advocate: Initial Positions, Cross-Examination, Verdict (Defenders [0, 1, 2] Advocate [3])
        socratic: Initial Thesis, Socratic Inquiry, Aporia (Respondent [0] Questioners [1, 2, 3])
        delphi: Independent Estimates, Informed Revision, Final Revision, Aggregation (Panelists [0, 1, 2, 3])
        brainstorm: Diverge, Build, Converge, Idea Synthesis (Ideators [0, 1, 2, 3])
        tradeoff: Frame, Criteria, Evaluate, Decision (Evaluators [0, 1, 2, 3])
    "#]]
    .assert_eq(&lines.collect::<String>());
    assert!(crate::method("Oxford").is_err_and(|fault| fault.message.contains("standard, oxford")));
}

#[test]
fn seats() {
    for (name, seats, want) in [
        ("standard", 1, "standard requires at least 2 models, not 1"),
        ("standard", 2, ""),
        ("standard", 20, ""),
        ("standard", 21, "models: 21 are too many; at most 20 can sit"),
        ("oxford", 2, ""),
        ("oxford", 3, "oxford requires an even number of models, not 3"),
        ("oxford", 20, ""),
        ("advocate", 2, "advocate requires at least 3 models, not 2"),
        ("advocate", 3, ""),
        ("socratic", 2, ""),
        ("delphi", 2, "delphi requires at least 3 models, not 2"),
        ("brainstorm", 2, ""),
        ("tradeoff", 0, "tradeoff requires at least 2 models, not 0"),
    ] {
        let checked = crate::method(name).unwrap().check_seats(seats);
        assert_eq!(checked.map_or_else(|fault| fault.message, |()| String::new()), want);
    }
}

#[test]
fn roles() {
    const EVERY: &str = "roles: every model must have exactly one role";
    #[track_caller]
    fn check(name: &str, seats: usize, roles: &[(&str, &[usize])], want: &str) {
        let roles: Roles = roles.iter().map(|(role, s)| (role.to_string(), s.to_vec())).collect();
        let checked = crate::method(name).unwrap().check_roles(&roles, seats);
        let got = checked.map_or_else(|fault| fault.message, |()| String::new());
        assert_eq!(got, want, "{name} {roles:?}");
    }
    for method in ALL {
        method.check_roles(&method.default_roles(6), 6).unwrap();
        method.check_roles(&Roles::new(), 6).unwrap();
    }
    check("oxford", 4, &[("FOR", &[2, 3]), ("AGAINST", &[0, 1])], "");
    check(
        "oxford",
        4,
        &[("FOR", &[0, 1, 2]), ("AGAINST", &[3])],
        "roles: FOR must have 2 models, not 3",
    );
    check("oxford", 4, &[("FOR", &[0, 1])], EVERY);
    check("oxford", 4, &[("FOR", &[0, 0]), ("AGAINST", &[1, 2])], EVERY);
    check("oxford", 2, &[("FOR", &[0]), ("AGAINST", &[9])], "roles: there is no seat 9");
    check(
        "oxford",
        2,
        &[("For", &[0]), ("AGAINST", &[1])],
        "roles: oxford has no role 'For'; it has FOR, AGAINST",
    );
    check("advocate", 3, &[("Advocate", &[0]), ("Defenders", &[1, 2])], "");
    check(
        "advocate",
        3,
        &[("Advocate", &[0, 1]), ("Defenders", &[2])],
        "roles: Defenders must have 2 models, not 1",
    );
    check("socratic", 2, &[("Respondent", &[1]), ("Questioners", &[0])], "");
    check("standard", 2, &[("FOR", &[0, 1])], "roles: standard has no role 'FOR'; it has none");
    check("delphi", 3, &[("Panelists", &[2, 1, 0])], "");
}
