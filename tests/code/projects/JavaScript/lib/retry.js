const { delay } = require('./queue')

const strategies = {
  linear (attempt) { return attempt * 10 },
  exponential: function (attempt) { return 2 ** attempt },
  none: () => 0
}

module.exports = async function retry (action, times, { strategy = 'linear' } = {}) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await action()
    } catch (error) {
      if (attempt >= times) throw wrap(error, attempt)
      await delay(strategies[strategy](attempt))
    }
  }
}

function wrap (error, attempt) {
  error.message += ` (after ${attempt})`
  return error
}

function * attempts (times) {
  for (let attempt = 1; attempt <= times; attempt++) yield attempt
}

exports.attempts = attempts
exports.strategies = strategies
