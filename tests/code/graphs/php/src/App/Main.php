<?php
namespace Acme\App;
use Acme\Store\{Repo, Row as R};
require_once __DIR__ . '/Base.php';
final class Main extends Base
{
    use Logs;
    public function __construct(private Repo $repo) {}
    public function run(?R $row): void
    {
        $this->prepare();
        $this->logIt();
        $this->repo->saveAll();
        $row->refresh();
        self::make(Repo::LIMIT);
        helped();
        $double = fn (int $x) => $x;
        $double(2);
    }
    public static function make(int $x): self { return new self(new Repo()); }
}
