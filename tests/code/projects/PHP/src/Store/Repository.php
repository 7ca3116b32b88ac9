<?php

namespace Acme\Orders\Store {

    use Acme\Orders\Model\Order;
    use RuntimeException;

    class NotFound extends RuntimeException {}

    trait Counts
    {
        private int $reads = 0;

        abstract protected function limit(): int;

        protected static function fresh(): static
        {
            return new static();
        }

        public function reads(): int
        {
            return $this->reads;
        }
    }

    trait Logs
    {
        public function log(string $message): void
        {
            error_log($message);
        }
    }

    interface Repository extends \IteratorAggregate
    {
        public const LIMIT = 100;

        /** @throws NotFound */
        public function find(string $id): Order;

        public function save(Order $order): void;
    }

    class Files implements Repository
    {
        use Counts, Logs {
            Counts::reads as protected countReads;
            Logs::log insteadof Counts;
        }

        public function __construct(private string $folder)
        {
        }

        protected function limit(): int
        {
            return self::LIMIT;
        }

        public function find(string $id): Order
        {
            $path = $this->path($id);
            if (!is_file($path)) {
                $this->log("no {$id}");
                throw new NotFound($id);
            }
            return unserialize(file_get_contents($path));
        }

        public function save(Order $order): void
        {
            file_put_contents($this->path($order->id), serialize($order));
        }

        public function getIterator(): \Generator
        {
            foreach (glob($this->folder . '/*.order') as $path) {
                yield unserialize(file_get_contents($path));
            }
        }

        private function path(string $id): string
        {
            return $this->folder . DIRECTORY_SEPARATOR . $id . '.order';
        }
    }
}

namespace Acme\Orders\Store\Testing {

    function memory(): \Acme\Orders\Store\Repository
    {
        return new class implements \Acme\Orders\Store\Repository {
            private array $orders = [];

            public function find(string $id): \Acme\Orders\Model\Order
            {
                return $this->orders[$id];
            }

            public function save(\Acme\Orders\Model\Order $order): void
            {
                $this->orders[$order->id] = $order;
            }

            public function getIterator(): \Iterator
            {
                return new \ArrayIterator($this->orders);
            }
        };
    }
}
