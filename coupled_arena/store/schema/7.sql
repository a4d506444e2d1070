-- With which probability a battle's models, in any order, were drawn; null where nobody noted it.
alter table battles add column chance double;
