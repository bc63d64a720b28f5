-- A deleted row leaves no trace, so: ids handed out less rows that are still there.
SELECT CASE WHEN handed_out.is_called THEN handed_out.last_value ELSE 0 END
     - (SELECT count(*) FROM turnstile_bench.deleted)
FROM turnstile_bench.deleted_id_seq AS handed_out;
