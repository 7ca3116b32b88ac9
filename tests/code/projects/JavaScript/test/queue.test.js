const test = require('node:test')
const assert = require('node:assert')
const { Queue } = require('../lib/queue')

test('runs jobs in order', async () => {
  const queue = new Queue(1)
  assert.deepEqual(await Promise.all([queue.push(async () => 1), queue.push(async () => 2)]), [1, 2])
})
