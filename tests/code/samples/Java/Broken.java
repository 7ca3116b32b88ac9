package org.example;

public class Broken {
  private int before;

  public int getBefore() {
    return before;
  }

  public void torn(int a, ) {
    if (a > ) {
      call(;
    }
    int x = ;
  }

  public int after() {
    return getBefore();
  }

  static class Inner {
    void inside() {}
  }
}
