'use strict'

const LIMIT = 8

/** Runs jobs, a few at a time. */
class Queue {
  static #created = 0
  #waiting = []
  running = 0

  constructor (limit = LIMIT) {
    this.limit = limit
    Queue.#created++
  }

  static get created () { return Queue.#created }

  get size () {
    return this.#waiting.length
  }

  set size (value) {
    this.#waiting.length = value
  }

  push (job) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject })
      this.#next()
    })
  }

  async drain () {
    while (this.running > 0) await delay(1)
  }

  * jobs () {
    for (const { job } of this.#waiting) yield job
  }

  #next () {
    if (this.running >= this.limit || this.size === 0) return
    const { job, resolve, reject } = this.#waiting.shift()
    this.running++
    job().then(resolve, reject).finally(() => {
      this.running--
      this.#next()
    })
  }
}

class TimedQueue extends Queue {
  push (job) {
    const started = Date.now()
    return super.push(job).then((value) => ({ value, took: Date.now() - started }))
  }
}

function delay (ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

module.exports = { Queue, TimedQueue, delay }
