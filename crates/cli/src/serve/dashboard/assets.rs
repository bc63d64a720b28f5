//! The files that pages are made with, inside the program.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;

struct Asset {
    path: &'static str,
    media_type: &'static str,
    content: &'static str,
}

const ASSETS: [Asset; 3] = [
    Asset {
        path: "/static/style.css",
        media_type: "text/css; charset=utf-8",
        content: include_str!("static/style.css"),
    },
    Asset {
        path: "/static/script.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("static/script.js"),
    },
    Asset {
        path: "/static/favicon.svg",
        media_type: "image/svg+xml",
        content: include_str!("static/favicon.svg"),
    },
];

/// Pages ask for them with the version of the program, so they are kept for long and are never of another version.
const KEEP: &str = "public, max-age=31536000, immutable";

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    ASSETS.into_iter().fold(Router::new(), |router, asset| {
        let Asset {
            path,
            media_type,
            content,
        } = asset;
        let answer = move || async move {
            let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, KEEP)];
            (headers, content).into_response()
        };
        router.route(path, get(answer))
    })
}
