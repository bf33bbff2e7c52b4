// Says in one sentence which Node is needed, before anything fails for another
// reason. The SDKs are those versions that run on Debian 12's.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 18 || (major === 18 && minor < 20)) {
  console.error(`The SDKs need Node 18.20 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}
