-- Version 3: the inbox. SCHEMA stands for the quoted name of the schema.

-- Letters that wait, in the order in which they were left.
create table SCHEMA.letters (
    session text collate "C" not null,
    id text collate "C" not null,
    place bigint generated always as identity,
    body bytea not null,
    primary key (session, id)
);
create index letters_in_order on SCHEMA.letters (session, place);
alter table SCHEMA.letters alter column body set storage external;

-- Replies, which go when they are old.
create table SCHEMA.replies (
    session text collate "C" not null,
    id text collate "C" not null,
    given timestamptz not null default clock_timestamp(),
    body bytea not null,
    primary key (session, id)
);
create index replies_by_age on SCHEMA.replies (given);
alter table SCHEMA.replies alter column body set storage external;

-- Leaves a letter: `left`, or `known` since it was left before, or `full` since as many wait as may.
create function SCHEMA.leave(p_session text, p_id text, p_body bytea, p_most integer) returns text
language plpgsql volatile as $$
begin
    -- Those who leave letters in one session come one after another, so that the bound holds.
    perform pg_advisory_xact_lock(hashtextextended('SCHEMA inbox ' || p_session, 0));
    if exists (
        select from SCHEMA.letters l where l.session = p_session and l.id = p_id
        union all
        select from SCHEMA.replies r where r.session = p_session and r.id = p_id
    ) then
        return 'known';
    end if;
    if (select count(*) from SCHEMA.letters l where l.session = p_session) >= p_most then
        return 'full';
    end if;
    insert into SCHEMA.letters (session, id, body) values (p_session, p_id, p_body);
    return 'left';
end
$$;

-- Puts a reply in the place of a letter: `true` when the claim stood. The lock on the session's row
-- holds back the next claim, and no append.
create function SCHEMA.reply(p_session text, p_epoch bigint, p_id text, p_body bytea)
returns boolean
language plpgsql volatile as $$
begin
    perform from SCHEMA.sessions s
    where s.id = p_session and s.epoch = p_epoch and s.owner is not null
    for key share;
    if not found then
        return false;
    end if;
    delete from SCHEMA.letters l where l.session = p_session and l.id = p_id;
    if found then
        insert into SCHEMA.replies (session, id, body) values (p_session, p_id, p_body)
        on conflict (session, id) do nothing;
    end if;
    return true;
end
$$;

-- As in version 1, and the session's letters and replies with it.
create or replace function SCHEMA.erase(p_id text, p_epoch bigint, p_owner bigint)
returns boolean
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
    delete from SCHEMA.letters t where t.session = p_id;
    delete from SCHEMA.replies r where r.session = p_id;
    return true;
end
$$;
