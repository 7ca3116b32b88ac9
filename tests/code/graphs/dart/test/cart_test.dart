import '../lib/cart.dart';
import '../lib/store.dart';
void main() { test('fills', () { final cart = Cart(Store()); cart.fill(); }); }
