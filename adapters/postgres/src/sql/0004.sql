-- Version 4. What is left to do and nobody holds is found without passing over what is held.

-- Open sessions by who holds them. A claim and its return move an entry, an append does not: it
-- changes neither of these, and whether there is something left to do only once a turn.
create index sessions_held on SCHEMA.sessions (owner, id) where open;
