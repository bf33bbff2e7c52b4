// Runs the official client of the conformance suite against a gateway with the suite's server behind it: the command of
// the suite's client scenarios. Its arguments are a folder with the programs, the revision and the address of the server.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { start } from "../agents/process.mjs";
import { finish, gateway, plain, proxy } from "./programs.mjs";

const [folder, revision, url] = process.argv.slice(2);
const home = mkdtempSync(join(folder, "client-"));

await finish(home, async () => {
  const address = await proxy(await gateway(join(folder, "weir"), home, plain(url)), revision < "2026-07-28");
  const child = start(join(folder, "everything-client"), [address], { cwd: home, env: process.env });
  const code = await child.gone;
  console.log(child.text);
  // The gateway asks a server nothing before a client does.
  await fetch(address, { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' });
  return code;
});
