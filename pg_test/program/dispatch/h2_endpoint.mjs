// An endpoint that talks HTTP/2 and HTTP/1.1, as the client asks for by TLS: node h2_endpoint.mjs KEY CERTIFICATE
// It prints its port, and answers with the version that it was asked in.
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";

const [key, cert] = process.argv.slice(2).map((file) => readFileSync(file));
let sessions = 0;
const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ version: request.httpVersion, id: request.headers["webhook-id"], sessions }));
  });
});
server.on("session", () => (sessions += 1));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
