import { Store, makeStore as make } from './store';
import * as lib from './lib/index.js';
import def from './def';
export class Api extends Store {
  constructor(private store: Store) { super(); }
  go() { const s = make(); lib.helper(); this.add('x'); this.store.add('y'); def(); }
}
