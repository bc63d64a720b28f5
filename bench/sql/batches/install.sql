-- What a team writes for itself: how many children are left is a number in the row of the parent.
CREATE TABLE turnstile_bench.fan_out (
    id bigserial PRIMARY KEY,
    children_left int NOT NULL
) WITH (fillfactor = 10);

-- In one call, and with the row locked last, so that it is locked as briefly as can be.
CREATE FUNCTION turnstile_bench.complete_child(job_id bigint, attempt int, parent bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    children_left int;
BEGIN
    PERFORM turnstile.complete(job_id, attempt);
    UPDATE turnstile_bench.fan_out AS fan_out
    SET children_left = fan_out.children_left - 1
    WHERE fan_out.id = parent
    RETURNING fan_out.children_left INTO children_left;
    IF children_left = 0 THEN
        PERFORM turnstile.enqueue('callback', queue => 'counter');
    END IF;
END
$$;
