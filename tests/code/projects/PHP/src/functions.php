<?php

namespace Acme\Orders;

const VERSION = '1.4';
define('ACME_DEBUG', false);

if (!function_exists('Acme\Orders\tap')) {
    /** Hands a value on after a look at it. */
    function tap(mixed $value, ?callable $look = null): mixed
    {
        $look && $look($value);
        return $value;
    }
}

function compose(callable ...$functions): \Closure
{
    return function ($value) use ($functions) {
        foreach ($functions as $function) {
            $value = $function($value);
        }
        return $value;
    };
}

function lazily(\Closure $make)
{
    static $made;
    return $made ??= $make();
}

function &counter()
{
    static $count = 0;
    function inner_step() { return 1; }
    $count += inner_step();
    return $count;
}

$double = fn ($x) => $x * 2;
$triple = function ($x) {
    return $x * 3;
};
