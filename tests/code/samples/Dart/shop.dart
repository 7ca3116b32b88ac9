/// The shop.
library shop;

import 'dart:io';
import 'money.dart' as money show Price hide X;
export 'src/a.dart';
part 'b.dart';

const limit = 10;
final String name = 'x';
typedef Items = List<Item>;

/// Can be sold.
abstract class Sellable<T> implements Comparable<T> {
  int get price;
  bool sell(Customer to);
}
mixin Logs on Base { void log(String w) { print(w); } }
enum Mood { happy, sad('s'); const Mood([this.l]); final String? l; String twice() => l! + l!; }

@immutable
class Basket extends Base with Logs implements Sellable {
  final Customer _owner;
  static const size = 3;
  Basket(this._owner, {int x = 0}) : super(_owner);
  Basket.empty() : this(Customer());
  factory Basket.make() => Basket.empty();

  /// Sells.
  @override
  bool sell(Customer to) {
    int inner(int x) => helper(x);
    return to.pay(money.Price.zero()) && this.check(inner(1));
  }
  set total(int x) { _t = x; }
  operator +(Basket o) => o;
  static Future<void> run() async {}
}
extension on Basket { void deep() {} }
extension Nice on String { bool get nice => true; }
int helper(int x) => x;
void main(List<String> args) { var b = new Basket(Customer()); b.sell(b)..log('x'); }
void tests() { test('adds', () { helper(1); }); group('g', () {}); }
