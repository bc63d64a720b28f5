import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        id = self.headers["webhook-id"]  # the same on each attempt: what is done for it once need not be done again
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200 if payload.get("to") else 422)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"id": id, "sent_to": payload.get("to")}).encode())


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 8000))), Endpoint).serve_forever()
