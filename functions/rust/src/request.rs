//! Reads what is asked of the function: a JSON object, a query string, or both.

use serde_json::{Map, Value, json};

const METHODS: [&str; 3] = ["pipe", "condvar", "ring"];
/// Numbers by name: whether whole, the least (not reached by what is timed or divided by), and the most.
const NUMBERS: [(&str, bool, f64, f64); 10] = [
    ("switches_per_batch", true, 2.0, 1e6),
    ("min_batches", true, 1.0, 5000.0),
    ("max_batches", true, 1.0, 5000.0),
    ("interval", false, 0.0, 1.0),
    ("time_limit_ms", false, 0.0, 9e5),
    ("ring_tasks", true, 2.0, 64.0),
    ("spin_ms", false, 0.0, 9e5),
    ("spinners", true, 1.0, 64.0),
    ("work_ms", false, 0.0, 9e5),
    ("iterations", true, 0.0, 1e13),
];

/// What to measure, by name, defaults filled in.
pub type Request = Map<String, Value>;

/// Reads a body and a query string; an error is one line.
pub fn parse(body: &str, query: &str) -> Result<Request, String> {
    let mut said = match serde_json::from_str(if body.trim().is_empty() { "{}" } else { body }) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Null) => Map::new(),
        Ok(_) => return Err("the body is not a JSON object".into()),
        Err(_) => return Err("the body is not JSON".into()),
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let value = match name {
            "methods" => text.split(',').filter(|one| !one.is_empty()).collect(),
            _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        };
        if said.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    let mut request = defaults();
    for (name, value) in said {
        let known = request.get_mut(&name).ok_or_else(|| format!("unknown name {name:?}"))?;
        *known = checked(&name, value)?;
    }
    if number(&request, "min_batches") > number(&request, "max_batches") {
        return Err("min_batches is more than max_batches".into());
    }
    Ok(request)
}

pub fn number(request: &Request, name: &str) -> f64 {
    request[name].as_f64().unwrap_or_default()
}

fn defaults() -> Request {
    let defaults = json!({
        "methods": METHODS, "switches_per_batch": 200, "min_batches": 20, "max_batches": 1000, "interval": 0.01, "time_limit_ms": 1000,
        "ring_tasks": 8, "spin_ms": 1000, "spinners": crate::host::cpus_allowed().len().clamp(1, 64), "work_ms": 0, "iterations": 0,
        "pin": true, "samples": false,
    });
    defaults.as_object().cloned().unwrap_or_default()
}

fn checked(name: &str, value: Value) -> Result<Value, String> {
    if name == "methods" {
        let list = value.as_array().ok_or("methods is not a list")?;
        for (place, one) in list.iter().enumerate() {
            if !METHODS.iter().any(|method| one == method) {
                return Err(format!("no method {one} in Rust; there are {}", METHODS.join(", ")));
            } else if list[..place].contains(one) {
                return Err(format!("methods has {one} twice"));
            }
        }
    } else if let Some((_, whole, least, most)) = NUMBERS.iter().find(|one| one.0 == name) {
        let above = matches!(name, "interval" | "time_limit_ms");
        let fits = |n: &f64| n.is_finite() && n <= most && (n > least || n == least && !above) && (!whole || n.fract() == 0.0);
        let number = value.as_f64().filter(fits);
        let number = number.ok_or_else(|| format!("{name} is not a number from {least} to {most} as it must be"))?;
        return Ok(if *whole { json!(number as u64) } else { value });
    } else if !value.is_boolean() {
        return Err(format!("{name} is neither true nor false"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_as_in_every_language() {
        let file: Value = serde_json::from_str(include_str!("../../vectors/requests.json")).unwrap();
        for vector in file["vectors"].as_array().unwrap() {
            let found = parse(vector["body"].as_str().unwrap_or(""), vector["query"].as_str().unwrap_or(""));
            match (found, vector["refused"].as_str()) {
                (Err(why), Some(word)) => assert!(why.contains(word) && !why.contains('\n'), "{vector}: {why}"),
                (Ok(found), None) => {
                    let mut expected = defaults();
                    expected.extend(vector["understood"].as_object().unwrap().clone());
                    assert_eq!(found, expected, "{vector}");
                }
                (found, _) => panic!("{vector}: {:?}", found),
            }
        }
    }
}
