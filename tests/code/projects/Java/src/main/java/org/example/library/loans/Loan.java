package org.example.library.loans;

import java.time.LocalDate;
import org.example.library.catalog.Book;

/** A book that someone has. */
public record Loan(Book book, String reader, LocalDate until) {
  public Loan {
    if (reader.isBlank()) {
      throw new IllegalArgumentException("reader");
    }
  }

  public static Loan of(Book book, String reader) {
    return new Loan(book, reader, LocalDate.now().plusDays(Desk.DAYS));
  }

  public boolean isLate(LocalDate today) {
    return today.isAfter(until);
  }

  public Loan extended(int days) {
    return new Loan(book, reader, until.plusDays(days));
  }
}
