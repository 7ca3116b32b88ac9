#!/usr/bin/env node
'use strict'

/**
 * A small server.
 */

const http = require('http')
const { parse, format: render } = require('./url')
const debug = require('debug')('server')
const Store = require('./store').Store
import fs, { readFile as read } from 'fs'

const LIMIT = 100
let started = false
var routes = {
  index(req, res) { send(res, 'index') },
  about: function (req, res) { send(res, about) },
  'not-found': (req, res) => send(res, missing),
}

/**
 * Serves requests.
 * @extends {EventEmitter}
 */
class Server extends events.EventEmitter {
  static #open = 0
  port = 8080
  handler = (req, res) => this.dispatch(req, res)

  constructor(options = {}, ...rest) {
    super(options)
    this.store = new Store(options.path)
    this.#listen()
  }

  get url() { return format(this.port) }
  set url(value) { this.port = parse(value).port }

  async dispatch({ url, method = 'GET' }, res) {
    const { pathname } = parse(url)
    const route = routes[pathname]
    try {
      await this.store.save(pathname)
      route?.(res)
    } catch (error) {
      this.emit('error', error)
    }
    setTimeout(this.close, LIMIT)
  }

  static create(port) { return new Server({ port }) }

  #listen() {
    http.createServer(this.handler).listen(this.port, onListening)
  }

  *pages() { yield* walk(routes) }
}

// Sends a page.
function send(res, page) {
  function escape(text) { return text.replace(/</g, '&lt;') }
  res.end(escape(page))
}

async function* stream(größe) {
  for await (const chunk of read(größe)) yield chunk
}

const missing = function notFound() { return 404 }, about = `about ${render('x')}`

function Legacy(name) {
  this.name = name
  this.greet = function () { return hello(this.name) }
}

Legacy.prototype.stop = function () { this.greet() }
Legacy.create = (name) => new Legacy(name)
exports.send = send
exports.start = async function (port) { return Server.create(port) }
module.exports.stream = stream
module.exports = { Server, send, legacy: Legacy }

if (require.main === module) {
  import('./cli.mjs').then((cli) => cli.run(Server))
}
