package org.example.library.catalog;

import java.util.*;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** All books. */
public class Catalog implements Iterable<Book> {
  public static final int LIMIT = 10_000;

  private final SortedMap<String, Book> books = new TreeMap<>();
  private final List<Listener> listeners = new ArrayList<>();

  /** What hears of new books. */
  @FunctionalInterface
  public interface Listener {
    void added(Book book);
  }

  public void add(Book book) throws CatalogException {
    if (books.size() >= LIMIT) {
      throw new CatalogException("full", CatalogException.Kind.FULL);
    }
    if (books.putIfAbsent(book.isbn(), book) == null) {
      listeners.forEach(each -> each.added(book));
    }
  }

  public Optional<Book> find(String isbn) {
    return Optional.ofNullable(books.get(isbn));
  }

  public Stream<Book> matching(Predicate<? super Book> wanted) {
    return books.values().stream().filter(wanted);
  }

  public void listen(Listener listener) {
    listeners.add(listener);
  }

  @Override
  public Iterator<Book> iterator() {
    return new Cursor(books.values().iterator());
  }

  private static final class Cursor implements Iterator<Book> {
    private final Iterator<Book> inner;

    Cursor(Iterator<Book> inner) {
      this.inner = inner;
    }

    @Override
    public boolean hasNext() {
      return inner.hasNext();
    }

    @Override
    public Book next() {
      return inner.next();
    }
  }
}
