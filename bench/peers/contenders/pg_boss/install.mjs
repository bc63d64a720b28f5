import { build, load, statement } from "../../javascript.mjs";

const { PgBoss } = await load("pg-boss/dist/index.js");
const { default: pg } = await load("pg/esm/index.mjs");

const pool = new pg.Pool({ max: 2 });
let sent = [];
const db = {
  executeSql(text, values) {
    sent.push({ text, values });
    return pool.query(text, values);
  },
};
const boss = new PgBoss({ db, supervise: false, schedule: false });
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue("bench");
await boss.createQueue("strict", { policy: "key_strict_fifo" });
await boss.getQueue("bench");

/** Lets the library do a step, and returns the statement on jobs that it has sent. */
async function recorded(pattern, step) {
  sent = [];
  const result = await step();
  const { text, values } = sent.filter((each) => pattern.test(each.text)).at(-1);
  return { text, values: (values ?? []).map((value) => `'${value}'`), result };
}

const INSERT = /INSERT INTO pgboss\.job/;
const UPDATE = /UPDATE pgboss\.job/;
const job = `json_build_object(
  'id', NULL, 'name', 'bench', 'data', :payload::json, 'priority', 0,
  'singletonKey', NULL, 'singletonOffset', 0, 'groupId', NULL, 'groupTier', NULL, 'deadLetter', NULL
)`;
const once = (value) => ["\\if :prepared = 0", `SELECT ${value} AS jobs`, "\\gset", "\\set prepared 1", "\\endif"];

const send = await recorded(INSERT, () => boss.send("bench", {}));
build("enqueue.pgbench", ...once(`json_build_array(${job})`), statement(send.text, [":jobs"]) + ";");
const insert = await recorded(INSERT, () => boss.insert("bench", [{ data: {} }, { data: {} }]));
build(
  "enqueue_many.pgbench",
  ...once(`(SELECT json_agg(${job}) FROM generate_series(1, :n::int))`),
  statement(insert.text, [":jobs"]) + ";",
);

async function work(name, queue, options = {}) {
  const fetched = await recorded(UPDATE, () => boss.fetch(queue, options));
  const done = await recorded(UPDATE, () => boss.complete(queue, "00000000-0000-0000-0000-000000000000"));
  const claim = statement(fetched.text, fetched.values);
  const finish = (ids) => statement(done.text, [`'${queue}'`, ids, "NULL"]) + ";";
  if (name === "work.pgbench") {
    build(name, claim, "\\gset", finish("ARRAY[:id]"));
    return;
  }
  // Under a limit or an order there may be nothing to be had; then the library asks again.
  build(
    name,
    `WITH claimed AS (${claim})`,
    "SELECT count(*) AS found, array_agg(id) AS ids, string_agg(data::text, '') AS data FROM claimed",
    "\\gset",
    "\\if :found > 0",
    finish(":ids"),
    "\\endif",
  );
}

await work("work.pgbench", "bench");
await work("work_many_10.pgbench", "bench", { batchSize: 10 });
await work("work_many_100.pgbench", "bench", { batchSize: 100 });
await work("tenants/work.pgbench", "bench", { groupConcurrency: { default: 1, tiers: { open: 1000 } } });
await work("sessions/work.pgbench", "strict");

// Only where somebody sleeps is a notification sent.
await boss.updateQueue("bench", { notify: true });
const loud = await recorded(INSERT, () => boss.send("bench", {}));
build("wake_up/enqueue.pgbench", ...once(`json_build_array(${job})`), statement(loud.text, [":jobs"]) + ";");
await boss.updateQueue("bench", { notify: false });

await pool.query("DELETE FROM pgboss.job");
await boss.stop({ graceful: false });
await pool.end();
