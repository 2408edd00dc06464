-- Version 1.

-- One row: counters of the whole store. `commits` is compared with the witness.
create table store (
    id integer primary key check (id = 1),
    commits integer not null default 0,
    owners integer not null default 0,
    probes integer not null default 0
) strict;
insert into store (id) values (1);

-- One row a session: who writes it, where its log ends, its summary. `owner` is the number of the
-- store object that holds the claim. Numbers of logs are never used again.
create table sessions (
    log integer primary key autoincrement,
    id text not null unique,
    owner integer,
    last integer not null,
    link blob not null,
    changed_ms integer not null,
    tenant text,
    turn_open integer not null,
    waiting_inputs integer not null,
    bytes integer
) strict;
create index sessions_of_tenant on sessions (tenant, id);

-- One row a fact, in the order of their commits: rows are only added at the end and never moved, so
-- that no page has a stale copy of one when it is erased. `link` is the link of the log's hash chain,
-- `body` the text form. An erased fact has other bytes of the same length, and its log has no session.
create table facts (
    fact integer primary key,
    log integer not null,
    seq integer not null,
    link blob not null,
    body text not null
) strict;
create unique index facts_in_order on facts (log, seq);

-- For people: facts by the ids of their sessions.
create view log_facts as
    select s.id as session, f.seq, json_extract(f.body, '$.kind') as kind, f.body
    from sessions s join facts f on f.log = s.log;
