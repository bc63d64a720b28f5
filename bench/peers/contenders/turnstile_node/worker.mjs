import { ready, stamper } from "../../javascript.mjs";
import { Worker } from "../../../../clients/node/dist/index.js";

const stamp = stamper();
const worker = new Worker({
  connection: {},
  concurrency: 2000,
  handlers: { bench: process.env.STAMP === "1" ? (run) => stamp(run.payload.number) : () => {} },
});
worker.run();
ready(() => worker.stop({ hard: true }));
