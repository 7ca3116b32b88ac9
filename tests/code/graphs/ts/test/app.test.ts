import { Store, Api } from '../src';
describe('x', () => { it('adds', () => { const s = new Store(); s.add('q'); }); });
