import 'store.dart';
import 'src/money.dart' as money;
class Cart extends Base with Logs {
  final Store store;
  Cart(this.store);
  void fill() { prepare(); store.saveAll(); money.total(1); this.finish(); logged(); }
  void finish() {}
}
