// Runs the official client of the conformance suite against a gateway that is connected to the suite's server by OAuth:
// the command of the suite's scenarios of authorization. Its arguments are as of client.mjs.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { start } from "../agents/process.mjs";
import { connect, person } from "./person.mjs";
import { finish, freePort, gateway, plain, proxy } from "./programs.mjs";

const [folder, revision, url] = process.argv.slice(2);
const home = mkdtempSync(join(folder, "client-"));
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const anyOf = "auth/metadata-default"; // the client does the same in all scenarios: it lists tools and calls one
const most = 3; // connections of the person, if the server then wants another one

const json = async (address) => (await fetch(address)).json();

/** What the operator sets about the access: nothing that the gateway finds out itself. */
async function settings() {
  if (!context.client_secret) return "oauth: installation";
  const client = `client_id: ${context.client_id}, client_secret: ${context.client_secret}`;
  const { origin, pathname } = new URL(url);
  const { authorization_servers: [issuer] } = await json(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  if (!process.env.MCP_CONFORMANCE_SCENARIO.startsWith("auth/client-credentials")) return `oauth: installation, issuer: "${issuer}", ${client}`;
  const { token_endpoint: token } = await json(`${issuer}/.well-known/oauth-authorization-server`);
  return `token_url: "${token}", ${client}`;
}

/** Waits until the gateway lists the server's tool: it does not ask a server again at once that has refused it. */
async function listed(address) {
  for (let i = 0; i < 40; i++) {
    const answer = await fetch(address, {
      method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    });
    if ((await answer.text()).includes("test-tool")) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

await finish(home, async () => {
  const port = await freePort();
  const own = await settings();
  const started = await gateway(join(folder, "weir"), home, `public_url: http://127.0.0.1:${port}\n${plain(url, own)}`, port);
  const address = await proxy(started, revision < "2026-07-28");
  const ask = own.startsWith("oauth") && (await person(started.setup));
  for (let i = 0; i < most; i++) {
    const fault = ask && (await connect(ask, started.url, "everything"));
    if (fault) {
      console.log(fault);
      return 1;
    }
    await listed(address);
    const child = start(join(folder, "everything-client"), [address], { cwd: home, env: { ...process.env, MCP_CONFORMANCE_SCENARIO: anyOf } });
    const code = await child.gone;
    console.log(child.text);
    if (code === 0) return 0;
  }
  return 1;
});
