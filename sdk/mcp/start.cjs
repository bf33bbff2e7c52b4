// Runs a suite of this folder with a Node that it takes: the conformance suite, or that of the first argument.
const { join } = require("node:path");

const { node, run } = require("../node/lib/node.cjs");

const [, , name, ...rest] = process.argv;
const own = name && !name.startsWith("--");
run(node(), [join(__dirname, own ? `${name}.mjs` : "suite.mjs"), ...(own ? rest : process.argv.slice(2))]);
