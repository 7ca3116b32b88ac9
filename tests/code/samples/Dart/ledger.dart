// Entries of a ledger.
import 'dart:async';
import 'package:ledger/money.dart' show Money, Currency;
import 'package:ledger/store.dart' deferred as store hide FileStore;

part 'ledger.g.dart';

/// What went wrong.
sealed class LedgerError implements Exception {
  const LedgerError(this.message);
  final String message;
}

final class TooLarge extends LedgerError {
  TooLarge(int limit) : super('more than $limit');
}

enum Kind implements Comparable<Kind> {
  credit(1),
  debit(-1);

  const Kind(this.sign);
  final int sign;

  bool get isDebit => this == debit;

  @override
  int compareTo(Kind other) => sign - other.sign;
}

typedef Handler<T> = Future<void> Function(T entry);
typedef int Compare(Entry a, Entry b);

class Entry {
  Entry({required this.id, this.amount = Money.zero, List<String>? notes}) : notes = notes ?? [];

  Entry.empty() : this(id: '');

  factory Entry.fromJson(Map<String, dynamic> json) => _$EntryFromJson(json);

  final String id;
  Money amount;
  late final List<String> notes;
  static int _made = 0, _lost = 0;
  static const String prefix = 'ent_';

  Entry operator +(Entry other) => Entry(id: id, amount: amount + other.amount);

  @override
  bool operator ==(Object other) => other is Entry && other.id == id;

  String get label {
    return '$prefix$id';
  }

  set label(String value) => notes.add(value);
}

/// A ledger.
abstract class Ledger<E extends Entry> with Auditing, ChangeNotifier implements Iterable<E> {
  final Store<E> _store;
  final _entries = <E>[];
  StreamSubscription<E>? _subscription;

  Ledger(this._store) {
    _subscription = _store.watch().listen(_onEntry);
  }

  external int native();

  Future<E?> add(E entry, {Handler<E>? then}) async {
    await store.loadLibrary();
    _entries.add(entry);
    await then?.call(entry);
    notifyListeners();
    int count() {
      return _entries.where((each) => each.amount.isPositive).length;
    }

    if (count() > limit) throw TooLarge(limit);
    return super.add(entry)?..audit('added');
  }

  void _onEntry(E entry) => add(entry);

  Stream<E> each() async* {
    for (final entry in _entries) {
      yield entry;
    }
  }

  E pick(Comparator<E> compare);
}

mixin Auditing on Object {
  final log = <String>[];
  void audit(String what) => log.add(what);
}

extension Sums on Iterable<Entry> {
  Money get total => fold(Money.zero, (sum, each) => sum + each.amount);
}

extension type Id(String value) {
  bool get isEmpty => value.isEmpty;
}

const limit = 100, least = 1;
var counter = 0;
final names = <String, Kind>{'credit': Kind.credit};

int compareEntries(Entry a, Entry b) => a.id.compareTo(b.id);
