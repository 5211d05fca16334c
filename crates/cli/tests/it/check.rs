use crate::fit::{Case, people};
use crate::{failed, json, stdout};

#[test]
fn a_check_counts_what_the_schema_does_not_allow() {
    let case = Case::new(50);
    let check = format!("check --data {} --schema {}", case.path("people.csv"), case.path("schema.toml"));
    let clean = stdout(&check);
    assert!(clean.starts_with("NOT PRIVATE") && clean.contains("50 records"), "{clean}");
    assert!(!clean.contains("would mend"), "{clean}");

    let mut lines: Vec<String> = people(50).lines().map(str::to_owned).collect();
    lines[10] = "200,true,Astronaut,50,true".to_owned();
    lines[20] = "\"open".to_owned();
    lines[30] = ",6174,State,,true".to_owned();
    case.write("people.csv", &(lines.join("\n") + "\n"));
    let text = stdout(&check);
    for part in
        ["50 records", "1 lines do not parse", "lines 21", "unknown = \"other\"", "not from these records"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Astronaut") && !text.contains("6174"), "{text}");
    let found = json(&check);
    assert!(found["note"].as_str().unwrap().starts_with("NOT PRIVATE"));
    let age = &found["columns"][0];
    assert_eq!((&age["outside"]["first"][0], &age["missing"]["first"][0]), (&11.into(), &31.into()));
    assert_eq!(found["columns"][1]["malformed"]["count"], 1);
    assert_eq!(found["columns"][2]["unknown"]["first"][0], 11);
    assert_eq!(
        (&found["malformed_lines"]["count"], &found["malformed_lines"]["first"][0]),
        (&1.into(), &21.into())
    );
}

#[test]
fn a_check_finds_a_wrong_layout() {
    let case = Case::new(50);
    let check = format!("check --data {} --schema {}", case.path("people.csv"), case.path("schema.toml"));
    case.write("people.csv", &people(50).replace(',', ";"));
    let text = stdout(&check);
    assert!(text.contains("file = { delimiter = \";\" }") && text.contains("no such column"), "{text}");
    let text = stdout(&format!("{check} --delimiter ;"));
    assert!(text.contains("50 records") && !text.contains("delimiter ="), "{text}");
    case.write("people.csv", people(50).split_once('\n').unwrap().1);
    assert!(stdout(&check).contains("no header"));
    std::fs::write(case.path("people.csv"), b"\x1f\x8b\x08not really").unwrap();
    assert!(stdout(&check).contains("gzip = true"));
    failed(&check.replace("people.csv", "absent.csv"), "absent.csv");
}
