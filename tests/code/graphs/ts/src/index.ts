export * from './store';
export { Api } from './api';
import { helper } from './lib';
export function boot() { helper(); }
