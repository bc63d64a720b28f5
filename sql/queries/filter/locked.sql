-- Those that are locked are passed over.
ORDER BY chosen.id
LIMIT $8
FOR UPDATE OF chosen SKIP LOCKED
