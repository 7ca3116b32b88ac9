package org.example.library.catalog;

public class CatalogException extends Exception {
  private final Kind kind;

  public enum Kind {
    FULL,
    UNKNOWN("unknown book") {
      @Override
      boolean isHarmless() {
        return true;
      }
    };

    private final String text;

    Kind() {
      this("catalog");
    }

    Kind(String text) {
      this.text = text;
    }

    boolean isHarmless() {
      return false;
    }
  }

  public CatalogException(String message, Kind kind) {
    super(message);
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }
}
