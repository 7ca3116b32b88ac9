package org.example.library.loans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Clock;
import org.example.library.catalog.Book;
import org.example.library.catalog.Catalog;
import org.example.library.catalog.CatalogException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class DeskTest {
  private final Catalog catalog = new Catalog();
  private Desk desk;

  @BeforeEach
  void openDesk() throws CatalogException {
    catalog.add(new Book("1", "First"));
    desk = new Desk(catalog, Clock.systemUTC());
  }

  @Test
  void lendsOnce() throws CatalogException {
    assertEquals("reader", desk.lend("1", "reader").reader());
    assertThrows(IllegalStateException.class, () -> desk.lend("1", "other"));
  }

  @Nested
  class Late {
    @Test
    void sendsFines() {
      desk.takeBack(new Book("1", "First"));
    }
  }
}
