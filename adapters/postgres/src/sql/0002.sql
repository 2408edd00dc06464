-- Version 2. An append changes no index of the table of sessions.

-- PostgreSQL updates a row in its page, without a new entry in each index, only where no column
-- changes that an index names, in its condition too. `waiting` changes with most appends; whether
-- there is something left to do changes once a turn.
alter table SCHEMA.sessions
    add column open boolean generated always as (turning or waiting > 0) stored;
drop index SCHEMA.sessions_open;
create index sessions_open on SCHEMA.sessions (id) where open;

-- What `append` of version 1 does, which stays for nodes of that version, with less work: the lease
-- is looked up by a statement whose plan is kept, an element of an array is taken where it is used,
-- and the places of the appends that were kept come as one value.
create function SCHEMA.keep(
    p_owner bigint, p_ids text[], p_epochs bigint[], p_afters integer[], p_lasts integer[],
    p_crcs integer[], p_links bytea[], p_bodies bytea[],
    p_waiting integer[], p_changed bigint[], p_turning boolean[], p_tenants bytea[]
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
            turning = p_turning[g.place], link = p_links[g.place], tenant = p_tenants[g.place]
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
