WITH gate AS (
    SELECT tenants.*
    FROM turnstile.tenants
), stat AS (
    SELECT stat_tenant.*
    FROM turnstile.stat_tenant
)
