use super::read;

fn shown(text: &str, names: &[&str]) -> Vec<String> {
    let parameters = read(text).unwrap();
    names
        .iter()
        .map(|name| parameters.get(name).unwrap_or("-").to_owned())
        .collect()
}

#[test]
fn a_word_is_a_database() {
    assert_eq!(shown("jobs", &["dbname", "host"]), ["jobs", "-"]);
}

#[test]
fn pairs_may_be_quoted_and_spaced() {
    let text = r" host = 'a b\'c' port=6432 password=x\ y dbname=''  user=u";
    assert_eq!(
        shown(text, &["host", "port", "password", "dbname", "user"]),
        ["a b'c", "6432", "x y", "-", "u"]
    );
}

#[test]
fn a_url_has_all_parts() {
    let text =
        "postgresql://u%40x:p%2Fw@one:1,[::1]:2/d%20b?sslmode=verify-full&application_name=a%26b";
    assert_eq!(
        shown(
            text,
            &[
                "user",
                "password",
                "host",
                "port",
                "dbname",
                "sslmode",
                "application_name"
            ]
        ),
        ["u@x", "p/w", "one,::1", "1,2", "d b", "verify-full", "a&b"]
    );
}

#[test]
fn a_url_may_name_a_socket() {
    assert_eq!(
        shown("postgres://%2Ftmp%2Fs/db", &["host", "dbname"]),
        ["/tmp/s", "db"]
    );
    assert_eq!(
        shown(
            "postgres:///db?host=/tmp/s&port=7",
            &["host", "port", "dbname"]
        ),
        ["/tmp/s", "7", "db"]
    );
}

#[test]
fn nonsense_is_refused() {
    for text in [
        "no_such=1",
        "host='a",
        "a b=1 c",
        "postgres://h?x",
        "postgres://%zz",
        "postgres://[::1",
        "postgres://h/%e4",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}
