<?php

namespace Acme\Orders\Tests;

use Acme\Orders\Model\{Line, Money, Order};
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class OrderTest extends TestCase
{
    private Order $order;

    protected function setUp(): void
    {
        $this->order = Order::of(new Line(), new Line());
    }

    public function testTotal(): void
    {
        self::assertTrue($this->order->total()->equals(new Money(200)));
    }

    #[DataProvider('counts')]
    public function testCount(int $lines): void
    {
        $this->assertCount($lines, Order::of(...array_fill(0, $lines, new Line())));
    }

    public static function counts(): iterable
    {
        yield 'one' => [1];
        yield 'two' => [2];
    }
}
