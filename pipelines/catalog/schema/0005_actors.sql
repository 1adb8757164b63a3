-- Who did it: page, command, REST, supervisor, driver; events of before say nobody.
ALTER TABLE events ADD COLUMN actor VARCHAR DEFAULT '';
