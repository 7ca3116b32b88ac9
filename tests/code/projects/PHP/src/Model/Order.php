<?php

declare(strict_types=1);

namespace Acme\Orders\Model;

use Acme\Orders\Store\{Repository, NotFound};
use DateTimeImmutable as Moment;
use InvalidArgumentException;
use JsonSerializable;

use function array_map;
use const PHP_INT_MAX;

/**
 * What a customer ordered.
 *
 * @psalm-immutable
 */
final readonly class Order implements JsonSerializable, \Countable
{
    public const MAX_LINES = 50, MIN_LINES = 1;
    private const string PREFIX = 'ord_';

    /** @param list<Line> $lines */
    public function __construct(
        public string $id,
        private array $lines,
        protected ?Moment $placed = null,
    ) {
        if (count($lines) > self::MAX_LINES) {
            throw new InvalidArgumentException(sprintf('at most %d lines', self::MAX_LINES));
        }
    }

    public static function of(Line ...$lines): static
    {
        return new static(uniqid(self::PREFIX), $lines, new Moment());
    }

    public function total(): Money
    {
        return array_reduce($this->lines, fn (Money $sum, Line $line): Money => $sum->plus($line->total()), Money::zero());
    }

    public function &reference(): array
    {
        return $this->lines;
    }

    public function count(): int { return count($this->lines); }

    public function with(Line $line): self { return new self($this->id, [...$this->lines, $line], $this->placed); }

    /** @return array<string, mixed> */
    #[\ReturnTypeWillChange]
    public function jsonSerialize(): array
    {
        return ['id' => $this->id, 'lines' => array_map(static function (Line $line): array {
            return $line->toArray();
        }, $this->lines)];
    }

    function __toString(): string
    {
        return "{$this->id} class NotOne { function notThis() {} }";
    }
}
