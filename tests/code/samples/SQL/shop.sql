-- Schema of the shop.
CREATE SCHEMA shop;

-- Who buys.
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS shop.orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER REFERENCES customers (id),
  total NUMERIC(10, 2) DEFAULT 0
);

CREATE UNIQUE INDEX orders_by_customer ON shop.orders (customer_id);

CREATE TYPE mood AS ENUM ('happy', 'sad');

CREATE VIEW big_orders AS
  SELECT o.id, c.name FROM shop.orders o JOIN customers c ON c.id = o.customer_id
  WHERE o.total > 100;

CREATE MATERIALIZED VIEW totals AS SELECT sum(total) FROM shop.orders;

/* What one customer spent. */
CREATE OR REPLACE FUNCTION spent(customer int) RETURNS numeric AS $$
  SELECT sum(total) FROM shop.orders WHERE customer_id = customer
$$ LANGUAGE sql;

CREATE TRIGGER touch AFTER UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION spent();

ALTER TABLE customers ADD COLUMN mood mood;
CREATE SEQUENCE tickets;
INSERT INTO customers (id, name) VALUES (1, 'Ada');
