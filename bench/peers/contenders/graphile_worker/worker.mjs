import { load, ready, stamper } from "../../javascript.mjs";

const { run, Logger } = await load("graphile-worker/dist/index.js");
const { default: pg } = await load("pg/esm/index.mjs");

const stamp = stamper();
const loaded = process.env.STAMP !== "1";
const worker = await run({
  pgPool: new pg.Pool({ max: 10 }),
  logger: new Logger(() => () => {}),
  noHandleSignals: true,
  taskList: { bench: async (payload) => stamp(payload.number) },
  preset: {
    worker: {
      concurrentJobs: 24,
      // What is good for throughput makes a single job wait.
      ...(loaded ? { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } : {}),
    },
  },
});
ready(() => worker.stop());
