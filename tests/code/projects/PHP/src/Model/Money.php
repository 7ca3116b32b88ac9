<?php

namespace Acme\Orders\Model;

interface Amount
{
    public function cents(): int;
    public function plus(Amount $other): self;
}

enum Currency: string
{
    case Euro = 'EUR';
    case Pound = 'GBP';

    const DEFAULT = self::Euro;

    public static function parse(string $code): self
    {
        return self::tryFrom($code) ?? throw new \ValueError($code);
    }

    public function sign(): string
    {
        return match ($this) {
            self::Euro => '€',
            self::Pound => '£',
        };
    }
}

abstract class Value
{
    abstract public function equals(Value $other): bool;

    final protected function same(mixed $a, mixed $b): bool
    {
        return $a === $b;
    }
}

class Money extends Value implements Amount
{
    private static ?Money $zero = null;

    public function __construct(private readonly int $cents, public readonly Currency $currency = Currency::DEFAULT) {}

    public static function zero(): self
    {
        return self::$zero ??= new self(0);
    }

    public function cents(): int
    {
        return $this->cents;
    }

    public function plus(Amount $other): self
    {
        return new self($this->cents + $other->cents());
    }

    public function equals(Value $other): bool
    {
        return $other instanceof Money && $this->same($this->cents, $other->cents);
    }

    public function __call(string $name, array $arguments)
    {
        return call_user_func_array([$this->currency, $name], $arguments);
    }
}

class Line
{
    public int $count = 1 {
        get => $this->count;
        set(int $value) => max(1, $value);
    }
    var $old;

    function total() { return new Money($this->count * 100); }
    function toArray() { return get_object_vars($this); }
}
