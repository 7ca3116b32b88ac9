<?php
declare(strict_types=1);

namespace Shop\Cart;

use Shop\Money\{Price, Currency as Cur};
use function Shop\help;
use Base\Thing;
require_once 'x.php';

const LIMIT = 10;
define('OTHER', 1);

/** Can be sold. */
interface Sellable extends Countable
{
    const MAX = 3;
    public function price(int $count = 1): Price;
}

trait Logs
{
    protected function log(string $what): void { echo $what; }
}

enum Mood: string implements HasLabel
{
    case Happy = 'h';
    case Sad = 's';
    public function label(): string { return ucfirst($this->value); }
}

/**
 * What a customer wants.
 */
#[Entity]
final class Basket extends Thing implements Sellable
{
    use Logs;
    private array $items = [];
    public const SIZE = 3;

    public function __construct(private readonly Customer $owner, ?Clock $clock = null)
    {
        parent::__construct();
        $this->log('made');
    }

    public static function make(Customer $c): static
    {
        return new static($c) ?? new Basket($c);
    }

    public function price(int $count = 1): Price
    {
        $add = fn(Item $i) => $i->price() + help($i);
        return array_sum(array_map($add, $this->items)) + Price::zero() + self::SIZE;
    }
}

function main(array $args): void
{
    $b = Basket::make(new Customer('x'));
    $b->price();
    $closure = function ($x) use ($b) { return $x; };
}
