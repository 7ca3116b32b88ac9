package com.acme.app;
import com.acme.store.Store;
import com.acme.store.*;
import static com.acme.util.Texts.clean;
public class Main extends Base {
  private Store store = new Store();
  public void run() { prepare(); store.save("x"); clean("a"); Helper.help(); this.finish(); Cache c = new Cache(); c.put("a"); }
  void finish() {}
}
