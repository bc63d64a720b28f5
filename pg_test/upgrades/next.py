"""A release that might follow, with a thing of each kind: the changes that its upgrade script makes."""

import contextlib
from collections.abc import Iterator

from support.scripts import CURRENT, installed, made_up, placed
from upgrades.script import check_of_grants, upgrade_script

CHANGES = """
ALTER TABLE turnstile.job ADD COLUMN region text NOT NULL DEFAULT 'unknown';
ALTER TABLE turnstile.job_history ADD COLUMN region text NOT NULL DEFAULT 'unknown';
COMMENT ON COLUMN turnstile.job.region IS 'Where the job belongs.';
COMMENT ON COLUMN turnstile.job_history.region IS 'Where the job belongs.';
CREATE TYPE turnstile.distance AS ENUM ('near', 'far');
CREATE TABLE turnstile.region (
    name text NOT NULL,
    slots int DEFAULT 5,
    distance turnstile.distance NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    CONSTRAINT region_pkey PRIMARY KEY (name),
    CONSTRAINT region_slots_check CHECK (slots >= 0)
) WITH (fillfactor = 80);
COMMENT ON TABLE turnstile.region IS 'Where jobs belong.';
ALTER TABLE turnstile.region ALTER COLUMN name SET STORAGE MAIN;
CREATE INDEX region_slots ON turnstile.region (slots) WHERE slots > 0;
SELECT pg_catalog.pg_extension_config_dump('turnstile.region', $$WHERE name <> 'unknown'$$);
CREATE SEQUENCE turnstile.region_seq INCREMENT 10;
CREATE FUNCTION turnstile.region_slots(region text) RETURNS int
    LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
    AS $$SELECT slots FROM turnstile.region WHERE name = region$$;
COMMENT ON FUNCTION turnstile.region_slots(text) IS 'How many may run there.';
CREATE FUNCTION turnstile.keep_region() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER keep_region BEFORE INSERT ON turnstile.region FOR EACH ROW EXECUTE FUNCTION turnstile.keep_region();
ALTER TABLE turnstile.region ENABLE ALWAYS TRIGGER keep_region;
CREATE VIEW turnstile.regions WITH (security_barrier) AS SELECT name, slots FROM turnstile.region WHERE slots > 0;
INSERT INTO turnstile.region (name, distance) VALUES ('unknown', 'far');
DROP FUNCTION turnstile.version();
CREATE FUNCTION turnstile.version(more text = NULL) RETURNS text LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'turnstile_version';
DROP VIEW turnstile.metrics, turnstile.memory;
CREATE VIEW turnstile.memory AS SELECT 1 AS lanes;
UPDATE turnstile.job SET region = 'known' WHERE tenant = 'nobody';
"""


@contextlib.contextmanager
def release() -> Iterator[str]:
    """The server can install the release anew. Its version; an upgrade to it is still to be placed."""
    version = made_up()
    with placed(version, f"{installed(CURRENT)}{CHANGES}{check_of_grants()}"):
        yield version


@contextlib.contextmanager
def upgrade_to(version: str, script: str = upgrade_script(CHANGES)) -> Iterator[None]:
    with placed(f"{CURRENT}--{version}", script):
        yield
