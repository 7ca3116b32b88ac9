<!DOCTYPE html>
<html>
<?php
require_once __DIR__ . '/../src/functions.php';

use Acme\Orders\Http\Orders;

function page(string $title): void { ?>
  <title><?= htmlspecialchars($title) ?></title>
<?php }

page('Orders');
?>
<body>
<?php foreach ((new Orders())->show('1') as $key => $value): ?>
  <p><?= $key ?>: <?= json_encode($value) ?></p>
<?php endforeach; ?>
</body>
</html>
