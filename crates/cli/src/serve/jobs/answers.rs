//! What all routes of jobs may answer besides what they are for.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Type};

const EVERYWHERE: [(u16, &str); 6] = [
    (400, "The request, or what it says, is wrong"),
    (401, "There is no token, or it is not known"),
    (403, "The role of the token may not do that"),
    (404, "There is no such job, or none that the caller may see"),
    (500, "The server has failed"),
    (
        503,
        "The server cannot be reached, takes no writes, or is not set up, or too many wait. Without Retry-After the request may have been done: send it again only with Idempotency-Key",
    ),
];
const WITH_BODIES: [(u16, &str); 5] = [
    (408, "The body took too long"),
    (409, "The state of another job does not allow it"),
    (413, "There is too much of something"),
    (
        415,
        "The body is not JSON, does not say so, or is compressed",
    ),
    (429, "The backlog of the queue or of the tenant is full"),
];
const CHANGES: [(u16, &str); 1] = [(409, "The state of the job does not allow it")];

/// Of requests that only look.
pub struct OfLooking;
/// Of requests that change a job.
pub struct OfChanging;
/// Of requests with jobs in their bodies.
pub struct OfAdding;

type Responses = BTreeMap<String, RefOr<Response>>;

impl IntoResponses for OfLooking {
    fn responses() -> Responses {
        problems(&EVERYWHERE)
    }
}

impl IntoResponses for OfChanging {
    fn responses() -> Responses {
        problems(EVERYWHERE.iter().chain(&CHANGES))
    }
}

impl IntoResponses for OfAdding {
    fn responses() -> Responses {
        problems(EVERYWHERE.iter().chain(&WITH_BODIES))
    }
}

fn problems<'a>(listed: impl IntoIterator<Item = &'a (u16, &'a str)>) -> Responses {
    listed
        .into_iter()
        .map(|(status, why)| (status.to_string(), problem(*status, why).into()))
        .collect()
}

fn problem(status: u16, why: &str) -> Response {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Problem")))
        .build();
    let mut response = ResponseBuilder::new()
        .description(why)
        .content("application/problem+json", content);
    if matches!(status, 429 | 503) {
        let seconds = ObjectBuilder::new().schema_type(Type::Integer);
        let header = HeaderBuilder::new().schema(seconds).description(Some(
            "After how many seconds to ask again, where that does nothing twice",
        ));
        response = response.header("Retry-After", header.build());
    }
    if status == 401 {
        let text = ObjectBuilder::new().schema_type(Type::String);
        let header = HeaderBuilder::new().schema(text);
        response = response.header("WWW-Authenticate", header.build());
    }
    response.build()
}
