/*
 * Copyright 2024 The authors. Licensed under the Apache License.
 */
package org.example.shop.orders;

import static java.util.stream.Collectors.toList;

import java.util.*;
import java.util.function.Function;
import org.example.shop.stock.Stock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;

/**
 * Takes orders and passes them on to the stock.
 *
 * @author someone
 */
@Service(name = "orders")
@SuppressWarnings({"unchecked", "rawtypes"})
public abstract class OrderService<T extends Comparable<T>> extends base.Service<T>
    implements AutoCloseable, Listener<Order> {

  /** Most orders of a day. */
  public static final int MAX_ORDERS = 500, MIN_ORDERS = 1;

  private final Stock stock;
  @Inject protected List<Order> open = new ArrayList<>();

  /** Makes a service over a stock. */
  public OrderService(final Stock stock, Clock... clocks) throws IllegalStateException {
    super(stock.name());
    this.stock = stock;
  }

  static {
    Registry.register(OrderService.class);
  }

  @Override
  public void close() {
    open.forEach(this::cancel);
    super.close();
  }

  /**
   * Places one order.
   */
  public <R extends Result> R place(
      final Order order, Function<? super Order, R> then) throws OrderException {
    if (order.size() > MAX_ORDERS) {
      throw new OrderException("too large", Reason.SIZE);
    }
    for (Item item : order.items()) {
      stock.reserve(item);
    }
    Comparator<Order> byDate = new Comparator<Order>() {
      @Override
      public int compare(Order left, Order right) {
        return left.date().compareTo(right.date());
      }
    };
    try (var lock = stock.lock()) {
      lock.check(byDate);
    } catch (LockException | StockException failed) {
      log(failed);
    }
    if (order instanceof Express express) {
      express.hurry();
    }
    var receipts = order.items().stream().map(each -> receipt(each)).collect(toList());
    return then.apply(order);
  }

  protected abstract void cancel(Order order);

  private Receipt receipt(Item größe) {
    return Receipt.of(größe);
  }

  /** Why an order is refused. */
  public enum Reason implements Coded {
    SIZE(1),
    STOCK(2) {
      @Override
      public String text() {
        return "out of stock";
      }
    };

    private final int code;

    Reason(int code) {
      this.code = code;
    }

    public int code() {
      return code;
    }
  }

  /** What was ordered. */
  public record Item(String name, int count) implements Serializable {
    public Item {
      Objects.requireNonNull(name);
    }

    static Item one(String name) {
      return new Item(name, 1);
    }
  }

  sealed interface Payment permits Card, Cash {
    int FEE = 2;

    Money amount();

    default boolean isFree() {
      return amount().isZero();
    }
  }

  @interface Audited {
    String value() default "";
  }

  static class Tests {
    @Test
    void placesOrders() {
      Item.one("pen");
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(ints = {1, 2})
    void refuses(int size) {}
  }
}
