import { createServer } from "node:http";

createServer(async (request, response) => {
  const id = request.headers["webhook-id"]; // the same on each attempt: what is done for it once need not be done again
  let body = "";
  for await (const piece of request) body += piece;
  const to = JSON.parse(body)?.to;
  response.writeHead(to ? 200 : 422, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ id, sent_to: to }));
}).listen(process.env.PORT ?? 8000, "127.0.0.1");
