<?php
$id = $_SERVER["HTTP_WEBHOOK_ID"]; // the same on each attempt: what is done for it once need not be done again
$payload = json_decode(file_get_contents("php://input"), true);
http_response_code(isset($payload["to"]) ? 200 : 422);
header("Content-Type: application/json");
echo json_encode(["id" => $id, "sent_to" => $payload["to"] ?? null]);
