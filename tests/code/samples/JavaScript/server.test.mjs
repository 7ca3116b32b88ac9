import assert from 'node:assert'
import { describe, it } from 'node:test'
import server from './server.js'
export { default as again, send as deliver } from './server.js'

describe('server', function () {
  it('starts', async () => {
    assert.ok(await server.start(0))
  })
})
