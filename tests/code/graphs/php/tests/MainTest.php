<?php
namespace Acme\Tests;
use Acme\App\Main;
class MainTest { public function testRun(): void { $main = new Main(); $main->run(null); Main::make(1); } }
