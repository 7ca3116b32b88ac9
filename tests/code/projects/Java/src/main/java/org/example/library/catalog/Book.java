package org.example.library.catalog;

import java.time.Year;
import java.util.Objects;

/** One book, by its number. */
public final class Book implements Comparable<Book> {
  private final String isbn;
  private final String title;
  private Year year = Year.now();

  public Book(String isbn, String title) {
    this.isbn = Objects.requireNonNull(isbn);
    this.title = title;
  }

  public String isbn() {
    return isbn;
  }

  public String title() {
    return title;
  }

  public Book published(Year year) {
    this.year = year;
    return this;
  }

  @Override
  public int compareTo(Book other) {
    return isbn.compareTo(other.isbn);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Book book && book.isbn.equals(isbn);
  }

  @Override
  public int hashCode() {
    return isbn.hashCode();
  }
}
