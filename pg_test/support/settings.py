"""Limits and pauses: rows of the tables queue, tenant, account, concurrency and batch."""

from psycopg import sql

KEYS = {"queue": ["name"], "tenant": ["name"], "account": ["tenant", "name"], "concurrency": ["key"], "batch": ["id"]}


def configure(conn, table: str, *key: str, **columns) -> None:
    """Sets columns of the row with this key, which need not be there yet."""
    named = dict(zip(KEYS[table], key, strict=True))
    if not _run(conn, "UPDATE turnstile.{table} SET {assignments} WHERE {match}", table, named, columns):
        _run(conn, "INSERT INTO turnstile.{table} ({names}) VALUES ({values})", table, named, columns)


def unconfigure(conn, table: str, *key: str) -> None:
    """Deletes the row with this key."""
    _run(conn, "DELETE FROM turnstile.{table} WHERE {match}", table, dict(zip(KEYS[table], key, strict=True)), {})


def _run(conn, statement: str, table: str, key: dict, columns: dict) -> int:
    def pairs(of, between):
        return sql.SQL(between).join(sql.SQL("{} = {}").format(sql.Identifier(n), sql.Placeholder(n)) for n in of)

    both = key | columns
    query = sql.SQL(statement).format(
        table=sql.Identifier(table),
        assignments=pairs(columns, ", "),
        match=pairs(key, " AND "),
        names=sql.SQL(", ").join(map(sql.Identifier, both)),
        values=sql.SQL(", ").join(map(sql.Placeholder, both)),
    )
    return conn.execute(query, both).rowcount
