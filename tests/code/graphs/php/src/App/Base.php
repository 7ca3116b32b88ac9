<?php
namespace Acme\App;
trait Logs { public function logIt(): void {} }
abstract class Base { protected function prepare(): void {} }
function helped(): void {}
