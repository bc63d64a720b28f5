SELECT count(claimed.id)
FROM generate_series(1, 100) AS worker
CROSS JOIN LATERAL turnstile.claim_next('*', worker => 'worker-' || worker) AS claimed;
