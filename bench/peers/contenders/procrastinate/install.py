import procrastinate
import psycopg

app = procrastinate.App(connector=procrastinate.SyncPsycopgConnector())
with app.open():
    app.schema_manager.apply_schema()
with psycopg.connect() as connection:
    assert connection.execute("SELECT worker_id FROM procrastinate_register_worker_v1()").fetchone() == (1,)
