// Runs the suite with a Node that the SDKs take.
const { join } = require("node:path");

const { node, run } = require("./node.cjs");

run(node(), [`--test-reporter=${join(__dirname, "reporter.mjs")}`, join(__dirname, "..", "suite.mjs"), ...process.argv.slice(2)]);
