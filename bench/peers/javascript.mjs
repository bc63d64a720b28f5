// For the installations and workers of contenders that are JavaScript libraries.

import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const modules = join(process.env.PEERS, "node", "node_modules");

/** A file of an installed package, also one that the package does not export. */
export function load(file) {
  return import(join(modules, file));
}

/** A statement that the library sent, as pgbench takes it: `values` are put in the places of $1, $2, … */
export function statement(text, values = []) {
  return values.reduceRight((found, value, at) => found.replaceAll(`$${at + 1}`, value), text.trim().replace(/;$/, ""));
}

export function build(name, ...lines) {
  const file = join(process.env.BUILT, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines.join("\n") + "\n");
}

export const concurrency = Number(process.env.CONCURRENCY ?? 1);

/** Tells the driver when a job began, if it wants to know. */
export function stamper() {
  if (process.env.STAMP !== "1") {
    return () => {};
  }
  const out = createWriteStream("", { fd: 1 });
  return (number) => number && out.write(`${number} ${(performance.timeOrigin + performance.now()) / 1000}\n`);
}

export function ready(stop) {
  process.on("SIGTERM", async () => {
    await stop();
    process.exit(0);
  });
  console.log("ready");
}
