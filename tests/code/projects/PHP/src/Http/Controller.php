<?php

namespace Acme\Orders\Http;

use Acme\Orders\Model as M;
use Acme\Orders\Store\{Files, NotFound, Repository};

#[Attribute(Attribute::TARGET_METHOD)]
final class Route
{
    public function __construct(public string $path, public string $method = 'GET') {}
}

abstract class Controller
{
    /** @var array<string, callable> */
    protected array $filters = [];

    public function __invoke(array $request): array
    {
        return $this->handle($request);
    }

    abstract protected function handle(array $request): array;

    protected function json(mixed $body, int $status = 200): array
    {
        return compact('status', 'body');
    }
}

class Orders extends Controller
{
    public function __construct(private readonly Repository $orders = new Files('/var/orders')) {}

    #[Route('/orders/{id}')]
    public function show(string $id): array
    {
        try {
            return $this->json($this->orders->find($id));
        } catch (NotFound | \TypeError $missing) {
            return $this->json(['error' => $missing->getMessage()], 404);
        }
    }

    #[Route('/orders', method: 'POST')]
    public function create(array $body): array
    {
        $order = M\Order::of(...array_map([$this, 'line'], $body['lines']));
        $this->orders?->save($order);
        return $this->json($order, 201);
    }

    protected function handle(array $request): array
    {
        return match ($request['method']) {
            'GET' => $this->show($request['id']),
            default => $this->create($request['body']),
        };
    }

    private function line(array $line): M\Line
    {
        return new M\Line();
    }
}
