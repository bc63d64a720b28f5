import { build, load, statement } from "../../javascript.mjs";

const { makeWorkerUtils, Logger } = await load("graphile-worker/dist/index.js");
const { batchGetJobs } = await load("graphile-worker/dist/sql/getJobs.js");
const { batchCompleteJobs } = await load("graphile-worker/dist/sql/completeJobs.js");
const { default: pg } = await load("pg/esm/index.mjs");

const pool = new pg.Pool({ max: 2 });
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool: pool, logger });
await utils.migrate();
await utils.addJob("bench", {});

const options = {
  workerSchema: "graphile_worker",
  escapedWorkerSchema: "graphile_worker",
  resolvedPreset: { worker: { preparedStatements: true, useNodeTime: false } },
  logger,
};

/** Lets the library send its statements, and returns the last one. */
async function recorded(step) {
  let last;
  const query = (sent) => {
    last = sent;
    return pool.query(sent);
  };
  const withClient = (work) => work({ query });
  withClient.withRetries = withClient;
  const result = await step(withClient);
  return { ...last, result };
}

const get = (size) => recorded((client) => batchGetJobs(options, client, { bench: () => {} }, "bench", null, size));
const complete = (jobs) => recorded((client) => batchCompleteJobs(options, client, "bench", jobs));

const one = await get(1);
const tasks = `'{${one.values[1].join()}}'`;
const inQueue = await complete([{ id: "0", job_queue_id: 1 }]);
build(
  "work.pgbench",
  statement(one.text, ["'bench'", tasks]),
  "\\gset",
  statement((await complete([{ id: "0", job_queue_id: null }])).text, [":id"]) + ";",
);
// While another claim holds the locks of the queues there is nothing to be had; the library asks again.
build(
  "sessions/work.pgbench",
  "\\set id 0",
  statement(one.text, ["'bench'", tasks]),
  "\\aset",
  "\\if :id > 0",
  statement(inQueue.text, ["ARRAY[:id]", "'bench'"]) + ";",
  "\\endif",
);

const many = statement((await complete([{ id: "0" }, { id: "0" }])).text, [":ids"]);
for (const size of [10, 100]) {
  const name = `bench_claim_${size}`;
  await pool.query(`
    CREATE FUNCTION ${name}() RETURNS TABLE (job bigint, body json) LANGUAGE plpgsql AS $body$
    DECLARE
      claimed record;
    BEGIN
      FOR claimed IN ${statement((await get(size)).text, ["'bench'", tasks])} LOOP
        job := claimed.id;
        body := claimed.payload;
        RETURN NEXT;
      END LOOP;
    END
    $body$`);
  build(
    `work_many_${size}.pgbench`,
    `SELECT array_agg(job) AS ids, string_agg(body::text, '') AS payloads FROM ${name}()`,
    "\\gset",
    many + ";",
  );
}

await pool.query("DELETE FROM graphile_worker._private_jobs");
await utils.release();
await pool.end();
