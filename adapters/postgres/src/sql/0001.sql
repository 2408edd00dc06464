-- Version 1. SCHEMA stands for the quoted name of the schema.

-- Epochs of claims and of leases. Larger than all before, also after a session was erased.
create sequence SCHEMA.epochs as bigint;

-- Names that are held for a time of the server's clock. A node holds one of its own.
create table SCHEMA.leases (
    name text collate "C" primary key,
    holder text collate "C" not null,
    epoch bigint not null unique,
    ttl_ms bigint not null,
    until timestamptz not null
) with (fillfactor = 50);

-- One row a session: who writes it, where its log ends, what it says in short.
-- `owner` is the epoch of the lease of the node that holds the claim.
-- Half of each page is left free, so that an append changes the row in its page and no index.
create table SCHEMA.sessions (
    id text collate "C" primary key,
    log bigint generated always as identity,
    epoch bigint not null,
    owner bigint,
    last integer not null default 0,
    waiting integer not null default 0,
    changed bigint not null default 0,
    turning boolean not null default false,
    link bytea not null,
    tenant bytea
) with (fillfactor = 50);
create index sessions_of_tenant on SCHEMA.sessions (tenant, id);
create index sessions_open on SCHEMA.sessions (id) where turning or waiting > 0;

-- One row an append: the lines of its facts, of which the last has the position `last`.
-- `crc` is the CRC-32C of the session's id, a line end, the position before and the lines.
create table SCHEMA.facts (
    log bigint not null,
    last integer not null,
    crc integer not null,
    body bytea not null
);
create unique index facts_in_order on SCHEMA.facts (log, last) with (fillfactor = 100);

create table SCHEMA.snapshots (
    log bigint primary key,
    seq integer not null,
    crc integer not null,
    version bytea not null,
    sha256 bytea not null,
    body bytea not null
);
alter table SCHEMA.snapshots alter column body set storage external;

-- A blob without a name is being written by the node whose lease has the epoch `owner`.
create table SCHEMA.blobs (
    blob bigint generated always as identity primary key,
    session text collate "C" not null,
    owner bigint,
    name text collate "C",
    bytes bigint not null default 0
);
create unique index blobs_by_name on SCHEMA.blobs (session, name) where name is not null;
create index blobs_unfinished on SCHEMA.blobs (session) where name is null;

create table SCHEMA.chunks (
    blob bigint not null references SCHEMA.blobs on delete cascade,
    chunk integer not null,
    body bytea not null,
    primary key (blob, chunk)
);
alter table SCHEMA.chunks alter column body set storage external;

create function SCHEMA.alive(p_owner bigint) returns boolean
language sql volatile as $$
    select exists (
        select from SCHEMA.leases where epoch = p_owner and until > clock_timestamp()
    )
$$;

-- Takes a lease, where nobody else holds the name. No row: another does.
create function SCHEMA.acquire(p_name text, p_holder text, p_ttl_ms bigint)
returns table (given bigint)
language sql volatile as $$
    insert into SCHEMA.leases as l (name, holder, epoch, ttl_ms, until)
    values (
        p_name, p_holder, nextval('SCHEMA.epochs'), p_ttl_ms,
        clock_timestamp() + p_ttl_ms * interval '1 millisecond'
    )
    on conflict (name) do update
    set holder = excluded.holder,
        epoch = nextval('SCHEMA.epochs'),
        ttl_ms = excluded.ttl_ms,
        until = clock_timestamp() + p_ttl_ms * interval '1 millisecond'
    where l.holder = excluded.holder or l.until <= clock_timestamp()
    returning l.epoch
$$;

-- Becomes the one writer of a session. `outcome`: `claimed`; `over` when the caller's own lease is;
-- `locked` with who holds it and how many milliseconds the lease lasts; `corrupt`.
create function SCHEMA.claim(p_id text, p_owner bigint, p_genesis bytea)
returns table (
    outcome text, epoch bigint, last integer, link bytea,
    waiting integer, changed bigint, turning boolean, tenant bytea,
    holder text, left_ms bigint
)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    s SCHEMA.sessions;
    h text;
    t bigint;
    e bigint;
begin
    if not SCHEMA.alive(p_owner) then
        outcome := 'over';
        return next;
        return;
    end if;
    for attempt in 1..50 loop
        insert into SCHEMA.sessions (id, epoch, link) values (p_id, 0, p_genesis)
        on conflict (id) do nothing;
        select * into s from SCHEMA.sessions where id = p_id for update;
        exit when found;
    end loop;
    if s.id is null then
        raise exception 'session % comes and goes', p_id using errcode = 'serialization_failure';
    end if;
    if s.owner <> p_owner then
        select l.holder, ceil(extract(epoch from l.until - clock_timestamp()) * 1000)::bigint
        into h, t
        from SCHEMA.leases l where l.epoch = s.owner and l.until > clock_timestamp();
        if found then
            outcome := 'locked';
            holder := h;
            left_ms := t;
            return next;
            return;
        end if;
    end if;
    if s.last > 0
        and not exists (select from SCHEMA.facts f where f.log = s.log and f.last = s.last)
    then
        outcome := 'corrupt';
        last := s.last;
        return next;
        return;
    end if;
    outcome := 'claimed';
    e := nextval('SCHEMA.epochs');
    epoch := e;
    update SCHEMA.sessions s2 set epoch = e, owner = p_owner where s2.id = p_id;
    last := s.last;
    link := s.link;
    waiting := s.waiting;
    changed := s.changed;
    turning := s.turning;
    tenant := s.tenant;
    return next;
end
$$;

-- Gives a claim back. A session that was only claimed leaves nothing.
create function SCHEMA.release(p_id text, p_epoch bigint, p_owner bigint) returns void
language plpgsql volatile as $$
begin
    delete from SCHEMA.sessions s
    where s.id = p_id and s.epoch = p_epoch and s.owner = p_owner and s.last = 0;
    update SCHEMA.sessions s set owner = null
    where s.id = p_id and s.epoch = p_epoch and s.owner = p_owner;
end
$$;

-- Appends to many sessions in one transaction, and tells which of the appends were kept: those whose
-- claim stands and whose position is the log's last. The others change nothing.
--
-- The settings hold the plan to looking each session up by its id, however small the table was when
-- the plan was made.
create function SCHEMA.append(
    p_owner bigint, p_ids text[], p_epochs bigint[], p_afters integer[], p_lasts integer[],
    p_crcs integer[], p_links bytea[], p_bodies bytea[],
    p_waiting integer[], p_changed bigint[], p_turning boolean[], p_tenants bytea[]
)
returns table (place integer)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
    if not SCHEMA.alive(p_owner) then
        return;
    end if;
    return query
    with given as (
        select *
        from unnest(
            p_ids, p_epochs, p_afters, p_lasts, p_crcs, p_links, p_bodies,
            p_waiting, p_changed, p_turning, p_tenants
        ) with ordinality as g (
            id, epoch, after, last, crc, link, body, waiting, changed, turning, tenant, place
        )
    ), moved as (
        update SCHEMA.sessions s
        set last = g.last, waiting = g.waiting, changed = g.changed, turning = g.turning,
            link = g.link, tenant = g.tenant
        from given g
        where s.id = g.id and s.epoch = g.epoch and s.owner = p_owner and s.last = g.after
        returning s.log, g.last, g.crc, g.body, g.place
    ), kept as (
        insert into SCHEMA.facts (log, last, crc, body)
        select m.log, m.last, m.crc, m.body from moved m
    )
    select m.place::integer from moved m;
end
$$;

-- Erases a session: `true` when the claim stood.
create function SCHEMA.erase(p_id text, p_epoch bigint, p_owner bigint) returns boolean
language plpgsql volatile as $$
declare
    l bigint;
begin
    if not SCHEMA.alive(p_owner) then
        return false;
    end if;
    delete from SCHEMA.sessions s
    where s.id = p_id and s.epoch = p_epoch and s.owner = p_owner
    returning s.log into l;
    if not found then
        return false;
    end if;
    delete from SCHEMA.facts f where f.log = l;
    delete from SCHEMA.snapshots n where n.log = l;
    return true;
end
$$;

-- Gives a blob that was written whole its name. `false`: some of it was taken away meanwhile.
create function SCHEMA.finish(p_blob bigint, p_session text, p_name text, p_bytes bigint)
returns boolean
language plpgsql volatile as $$
declare
    n bigint;
begin
    select coalesce(sum(octet_length(c.body)), 0) into n from SCHEMA.chunks c where c.blob = p_blob;
    if n = p_bytes then
        begin
            update SCHEMA.blobs b set name = p_name, bytes = p_bytes, owner = null
            where b.blob = p_blob and b.name is null;
        exception when unique_violation then
            delete from SCHEMA.blobs b where b.blob = p_blob;
        end;
    end if;
    return exists (
        select from SCHEMA.blobs b where b.session = p_session and b.name = p_name
    );
end
$$;
