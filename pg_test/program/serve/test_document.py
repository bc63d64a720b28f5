"""The document of OpenAPI, and health."""

import re

from openapi_spec_validator import OpenAPIV31SpecValidator

from support.database import fresh_database
from support.serve import ask


def test_the_document_is_one_of_the_standard(serve):
    document = serve().document()
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")
    # Paths that differ in the names of their parameters alone are the same.
    assert len({re.sub("{.*?}", "{}", path) for path in document["paths"]}) == len(document["paths"])
    operations = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert operations == {
        ("/v1/jobs", "post"),
        ("/v1/jobs/{name}", "post"),
        ("/v1/jobs/{name}", "get"),
        ("/v1/jobs/{name}", "delete"),
        ("/v1/openapi.json", "get"),
        ("/healthz", "get"),
        ("/readyz", "get"),
    }


def test_the_document_tells_of_tokens_parameters_and_problems(conn, serve):
    document = serve().document()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["security"] == [{"token": []}]
    enqueue = document["paths"]["/v1/jobs/{name}"]["post"]
    assert "security" not in enqueue and document["paths"]["/healthz"]["get"]["security"] == [{}]
    # All arguments of the function but those that are the path and the body.
    names = conn.execute("SELECT proargnames FROM pg_proc WHERE proname = 'enqueue'").fetchone()[0]
    query = {each["name"] for each in enqueue["parameters"] if each["in"] == "query"}
    assert query == set(names) - {"kind", "payload"}
    assert all(not each["required"] for each in enqueue["parameters"] if each["in"] != "path")
    assert [each["name"] for each in enqueue["parameters"] if each["in"] == "header"] == ["Idempotency-Key"]
    for status in ("400", "401", "403", "404", "413", "415", "429", "503"):
        content = enqueue["responses"][status]["content"]
        assert content["application/problem+json"]["schema"]["$ref"] == "#/components/schemas/Problem"
    assert "Retry-After" in enqueue["responses"]["429"]["headers"]
    assert set(document["components"]["schemas"]["Problem"]["required"]) == {"status", "title", "detail"}


def test_what_is_shown_is_in_the_document(conn, serve, producer):
    served = serve(producer)
    job = served.post("/v1/jobs/a", {"n": 1}, role=producer).json["id"]
    schema = served.document()["components"]["schemas"]["Job"]
    assert set(served.get(f"/v1/jobs/{job}", role=producer).json) == set(schema["properties"])


def test_health_needs_no_token_and_no_server(serve, relay, db):
    served = serve(database=f"host=127.0.0.1 port={relay.port} dbname={db.name}")
    assert [ask(served.port, "GET", path).text for path in ("/healthz", "/readyz")] == ["ok\n", "ready\n"]
    relay.cut()
    assert served.get("/healthz").status == 200
    refused = served.get("/readyz")
    assert (refused.status, refused.headers["Content-Type"]) == (503, "application/problem+json")
    relay.open()
    assert served.get("/readyz").status == 200


def test_without_the_extension_it_is_not_ready(serve):
    with fresh_database(extension=False) as empty:
        served = serve(database=empty.name)
        refused = served.get("/readyz")
        assert (refused.status, "no extension turnstile" in refused.json["detail"]) == (503, True)
        served.terminate()
        assert served.ended()[0] == 0
