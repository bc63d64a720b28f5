import { load, ready, stamper } from "../../javascript.mjs";

const { PgBoss } = await load("pg-boss/dist/index.js");

const stamp = stamper();
const boss = new PgBoss({
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  database: process.env.PGDATABASE,
  schedule: false,
  useListenNotify: true,
});
boss.on("error", (error) => console.error(error));
await boss.start();
const alone = process.env.STAMP === "1";
await boss.updateQueue("bench", { notify: alone });
await boss.work(
  "bench",
  { batchSize: alone ? 1 : 100, localConcurrency: 4, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
  async (jobs) => jobs.forEach((job) => stamp(job.data.number)),
);
ready(() => boss.stop({ graceful: false }));
