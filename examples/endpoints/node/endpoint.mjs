import { createServer } from "node:http";

createServer(async (request, response) => {
  const id = request.headers["webhook-id"]; // the same on each attempt: what is done for it once need not be done again
  const pieces = await request.toArray().catch(() => []);
  let to;
  try { to = JSON.parse(Buffer.concat(pieces).toString())?.to; } catch { /* no JSON has no address */ }
  response.writeHead(to ? 200 : 422, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ id, sent_to: to }));
}).listen(process.env.PORT ?? 8000, "127.0.0.1");
