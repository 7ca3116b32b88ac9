const { boot } = require('./index');
const lib = require('./lib');
function main() { boot(); lib.helper(); }
module.exports = { main };
