-- Version 5: the bytes of each session. SCHEMA stands for the quoted name of the schema.

-- Null for a session that began before this version.
alter table SCHEMA.sessions add column bytes bigint;

-- What `claim` does, which stays for nodes of an older version, with the bytes of the session.
create function SCHEMA.claim_counted(p_id text, p_owner bigint, p_genesis bytea)
returns table (
    outcome text, epoch bigint, last integer, link bytea,
    waiting integer, changed bigint, turning boolean, tenant bytea, bytes bigint,
    holder text, left_ms bigint
)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    b bigint;
    c record;
begin
    select * into c from SCHEMA.claim(p_id, p_owner, p_genesis);
    -- A statement of its own, which sees what the claim saw.
    select s.bytes into b from SCHEMA.sessions s where s.id = p_id;
    return query select c.outcome, c.epoch, c.last, c.link, c.waiting, c.changed, c.turning,
        c.tenant, b, c.holder, c.left_ms;
end
$$;

-- What `keep` does, which stays for nodes of an older version, with the bytes of each session.
create function SCHEMA.keep_counted(
    p_owner bigint, p_ids text[], p_epochs bigint[], p_afters integer[], p_lasts integer[],
    p_crcs integer[], p_links bytea[], p_bodies bytea[],
    p_waiting integer[], p_changed bigint[], p_turning boolean[], p_tenants bytea[],
    p_bytes bigint[]
)
returns integer[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    places integer[];
begin
    if not exists (
        select from SCHEMA.leases l where l.epoch = p_owner and l.until > clock_timestamp()
    ) then
        return null;
    end if;
    with moved as (
        update SCHEMA.sessions s
        set last = p_lasts[g.place], waiting = p_waiting[g.place], changed = p_changed[g.place],
            turning = p_turning[g.place], link = p_links[g.place], tenant = p_tenants[g.place],
            bytes = p_bytes[g.place]
        from unnest(p_ids) with ordinality as g (id, place)
        where s.id = g.id and s.epoch = p_epochs[g.place] and s.owner = p_owner
            and s.last = p_afters[g.place]
        returning s.log, s.last, g.place::integer as place
    ), kept as (
        insert into SCHEMA.facts (log, last, crc, body)
        select m.log, m.last, p_crcs[m.place], p_bodies[m.place] from moved m
    )
    select array_agg(m.place) into places from moved m;
    return places;
end
$$;
