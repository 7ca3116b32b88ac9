'use strict'

const path = require('node:path')
const { Queue, delay } = require('./lib/queue')
const retry = require('./lib/retry')

module.exports = createMailer
module.exports.Mailer = Mailer
exports.version = '1.0.0'

function createMailer (options) {
  return new Mailer(options)
}

function Mailer (options = {}) {
  if (!(this instanceof Mailer)) return new Mailer(options)
  this.queue = new Queue(options.limit)
  this.folder = path.join(options.root || '.', 'mail')
  this.onSent = function (message) { log('sent', message) }
}

Mailer.prototype.send = async function send (message) {
  const id = await this.queue.push(() => retry(() => deliver(message), 3))
  this.onSent(message)
  return id
}

Mailer.prototype.close = function () {
  return this.queue.drain()
}

Mailer.from = (folder) => createMailer({ root: folder })

async function deliver (message) {
  await delay(10)
  return message.id
}

const log = (...parts) => console.log(...parts)
