// Runs the agents with a Node that they take.
const { join } = require("node:path");

const { node, run } = require("../node/lib/node.cjs");

run(node(), [join(__dirname, "run.mjs"), ...process.argv.slice(2)]);
