package org.example.library.loans;

import static java.util.stream.Collectors.groupingBy;

import java.time.Clock;
import java.time.LocalDate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.example.library.catalog.Book;
import org.example.library.catalog.Catalog;
import org.example.library.catalog.CatalogException;

/** Where books are lent and brought back. */
public class Desk implements AutoCloseable {
  static final int DAYS = 28;

  private final Catalog catalog;
  private final Clock clock;
  private final Map<Book, Loan> loans = new HashMap<>();

  public Desk(Catalog catalog, Clock clock) {
    this.catalog = catalog;
    this.clock = clock;
    catalog.listen(this::announce);
  }

  public synchronized Loan lend(String isbn, String reader) throws CatalogException {
    Book book = catalog.find(isbn).orElseThrow(() -> unknown(isbn));
    if (loans.containsKey(book)) {
      throw new IllegalStateException("lent: " + book.title());
    }
    Loan loan = Loan.of(book, reader);
    loans.put(book, loan);
    return loan;
  }

  public void takeBack(Book book) {
    Loan loan = loans.remove(book);
    if (loan != null && loan.isLate(today())) {
      new Fine(loan).send();
    }
  }

  public Map<String, List<Loan>> byReader() {
    return loans.values().stream().collect(groupingBy(Loan::reader));
  }

  private LocalDate today() {
    return LocalDate.now(clock);
  }

  private static CatalogException unknown(String isbn) {
    return new CatalogException(isbn, CatalogException.Kind.UNKNOWN);
  }

  protected void announce(Book book) {
    System.out.println(book.title());
  }

  @Override
  public void close() {
    loans.clear();
  }

  private class Fine {
    private final Loan loan;

    Fine(Loan loan) {
      this.loan = loan;
    }

    void send() {
      announce(loan.book());
    }
  }
}
