// Runs the conformance suite with a Node that it takes.
const { join } = require("node:path");

const { node, run } = require("../node/lib/node.cjs");

run(node(), [join(__dirname, "suite.mjs"), ...process.argv.slice(2)]);
