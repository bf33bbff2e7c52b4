// People, an agent and a protected MCP server at once: the person connects the gateway to the server, and allows the
// agent to use its tools.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";

import { axe, browser, faults, heading, person, shown, step, told, within } from "./browser.mjs";

const hash = (text) => createHash("sha256").update(text).digest("base64url");
const random = () => randomBytes(32).toString("base64url");
const json = (response, status, value) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));

// peer is an MCP server with its authorization server, and the address at which the agent gets its answers.
const peer = { clients: new Map(), codes: new Map(), tokens: new Set() };
const { origin, port } = new URL(told.issuer);

const tools = {
  "initialize": ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "peer", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "greet", description: "Greets.", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "Hello from the peer" }] }),
};

const routes = {
  "/.well-known/oauth-protected-resource/mcp": (_, response) => json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin] }),
  "/.well-known/oauth-authorization-server": (_, response) => json(response, 200, {
    issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, registration_endpoint: `${origin}/register`,
    response_types_supported: ["code"], code_challenge_methods_supported: ["S256"], authorization_response_iss_parameter_supported: true,
  }),
  "/register": (_, response, body) => {
    const id = random();
    peer.clients.set(id, JSON.parse(body));
    json(response, 201, { ...JSON.parse(body), client_id: id });
  },
  "/authorize": (url, response) => {
    const { redirect_uris: back = [], client_name: name } = peer.clients.get(url.searchParams.get("client_id")) ?? {};
    if (!back.includes(url.searchParams.get("redirect_uri"))) return response.writeHead(400).end("an unknown address");
    const code = random();
    peer.codes.set(code, url.searchParams.get("code_challenge"));
    const to = new URL(url.searchParams.get("redirect_uri"));
    to.search = new URLSearchParams({ code, state: url.searchParams.get("state"), iss: origin });
    response.writeHead(200, { "Content-Type": "text/html" }).end(`<title>Peer</title><h1>Allow ${name}?</h1><a href="${to.href.replaceAll("&", "&amp;")}">Allow at the peer</a>`);
  },
  "/token": (_, response, body) => {
    const form = new URLSearchParams(body);
    if (peer.codes.get(form.get("code")) !== hash(form.get("code_verifier"))) return json(response, 400, { error: "invalid_grant" });
    peer.codes.delete(form.get("code"));
    const token = random();
    peer.tokens.add(token);
    json(response, 200, { access_token: token, token_type: "Bearer", expires_in: 3600 });
  },
  "/mcp": (_, response, body, headers) => {
    if (!peer.tokens.has((headers.authorization ?? "").replace("Bearer ", ""))) {
      return response.writeHead(401, { "WWW-Authenticate": `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` }).end();
    }
    const { id, method, params } = JSON.parse(body || "{}");
    if (id === undefined) return response.writeHead(202).end();
    const answer = tools[method] ? { result: tools[method](params) } : { error: { code: -32601, message: "no such method" } };
    json(response, 200, { jsonrpc: "2.0", id, ...answer });
  },
  "/agent": (_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<title>Agent</title><h1>Back at the agent</h1>"),
};
const listening = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const url = new URL(request.url, origin);
  (routes[url.pathname] ?? ((_, r) => r.writeHead(404).end()))(url, response, body, request.headers);
}).listen(port, "127.0.0.1");
await new Promise((ready) => listening.once("listening", ready));

// checked fails for a page in which axe finds something.
async function checked(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  assert.ok(found.passes.length > 0, "axe has looked at nothing");
  assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes[0].html}`), []);
}

// agent is a program that has only the address of the gateway.
const agent = { back: `${origin}/agent`, verifier: random(), state: random() };

async function call(method, params = {}) {
  return fetch(`${told.base}/mcp`, {
    method: "POST",
    headers: {
      ...(agent.token && { Authorization: `Bearer ${agent.token}` }), "Content-Type": "application/json",
      Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}

const post = (address, form) => fetch(address, { method: "POST", body: new URLSearchParams(form) });

const ada = await person();

await step("the first operator connects the gateway and themselves to the server", async () => {
  await ada.goto(told.setup);
  await ada.getByLabel("Name").fill("Ada Lovelace");
  await ada.getByLabel("E-mail").fill("ada@example.com");
  await ada.getByLabel("Password", { exact: false }).first().fill("a weir measures a river");
  await ada.getByRole("button").filter({ hasText: /set up|begin|make|create/i }).first().click();
  await heading(ada, "Overview");
  await ada.goto("/connections");
  await checked(ada);
  for (const group of ["#h-own", "#h-installation"]) {
    const section = ada.locator("section").filter({ has: ada.locator(group) });
    assert.equal(await section.getByText("Not connected").count(), 1);
    await section.getByRole("link", { name: "Connect peer" }).click();
    await heading(ada, "Allow Weir: peer?");
    await ada.getByRole("link", { name: "Allow at the peer" }).click();
    await heading(ada, "Connections");
    await section.getByText("Connected", { exact: true }).waitFor();
  }
  await checked(ada);
  assert.deepEqual([...peer.clients.values()].map((c) => c.redirect_uris), [[`${told.base}/connections/peer/callback`]], "one registration, for this server");
});

let address = "";

await step("the agent finds the way to sign in by a refused request", async () => {
  const refused = await call("tools/list");
  assert.equal(refused.status, 401);
  const resource = await (await fetch(/resource_metadata="([^"]+)"/.exec(refused.headers.get("WWW-Authenticate"))[1])).json();
  agent.server = await (await fetch(`${resource.authorization_servers[0]}/.well-known/oauth-authorization-server`)).json();
  const registered = await fetch(agent.server.registration_endpoint, { method: "POST", body: JSON.stringify({ client_name: "Agent", redirect_uris: [agent.back] }) });
  assert.equal(registered.status, 201);
  agent.id = (await registered.json()).client_id;
  address = `${agent.server.authorization_endpoint}?${new URLSearchParams({
    response_type: "code", client_id: agent.id, redirect_uri: agent.back, state: agent.state, code_challenge: hash(agent.verifier),
    code_challenge_method: "S256", resource: resource.resource, scope: "tools",
  })}`;
});

// answer opens the agent's request, answers it, and returns the parameters of the agent's answer.
async function answer(page, button) {
  await heading(page, "Allow Agent to use tools?");
  await shown(page, "Any program on your computer can call itself Agent");
  await checked(page);
  await page.getByRole("button", { name: button }).click();
  await heading(page, "Back at the agent");
  const got = new URL(page.url()).searchParams;
  assert.equal(got.get("state"), agent.state);
  assert.equal(got.get("iss"), told.base);
  return got;
}

await step("a person refuses, and the agent gets no code", async () => {
  await ada.goto(address);
  const got = await answer(ada, "Refuse");
  assert.equal(got.get("error"), "access_denied");
  assert.equal(got.get("code"), null);
});

await step("a person signs in, without a script, allows, and the agent calls a tool", async () => {
  const plain = await person({ javaScriptEnabled: false });
  await plain.goto(address);
  await plain.getByLabel("E-mail").fill("ada@example.com");
  await plain.getByLabel("Password").fill("a weir measures a river");
  await plain.getByRole("button", { name: "Sign in" }).click();
  await heading(plain, "Allow Agent to use tools?");
  await plain.getByRole("button", { name: "Allow" }).click();
  await heading(plain, "Back at the agent");
  const code = new URL(plain.url()).searchParams.get("code");
  await plain.context().close();
  const form = { grant_type: "authorization_code", code, code_verifier: agent.verifier, client_id: agent.id, redirect_uri: agent.back };
  const wrong = await post(agent.server.token_endpoint, { ...form, code_verifier: random() });
  assert.equal(wrong.status, 400, "a thief of the code has no verifier");
  const tokens = await post(agent.server.token_endpoint, form);
  assert.equal(tokens.status, 200);
  ({ access_token: agent.token, refresh_token: agent.refresh } = await tokens.json());
  const called = await call("tools/call", { name: "peer__greet", arguments: {} });
  assert.equal(called.status, 200);
  assert.match(await called.text(), /Hello from the peer/);
});

await step("the connection ends, and so does the tool", async () => {
  await ada.goto("/connections");
  const own = ada.locator("section").filter({ has: ada.locator("#h-own") });
  await own.getByRole("button", { name: "Disconnect" }).first().click();
  await ada.locator("[popover]:popover-open button[type=submit]").click();
  await own.getByText("Not connected").waitFor();
  await within(10000, "no access", async () => /not connected/.test(await (await call("tools/call", { name: "peer__greet", arguments: {} })).text()));
});

await step("the key is revoked, and the agent is out", async () => {
  await ada.goto("/accounts/default/keys");
  const row = ada.locator("tr").filter({ hasText: "Agent" });
  await row.getByRole("button", { name: /Revoke/ }).click();
  await ada.locator("[popover]:popover-open button[type=submit]").click();
  await within(1000, "401", async () => (await call("tools/list")).status === 401);
  const renewed = await post(agent.server.token_endpoint, { grant_type: "refresh_token", refresh_token: agent.refresh, client_id: agent.id });
  assert.equal(renewed.status, 400, "the refresh token has ended, too");
});

await step("no console error, no request to another host", async () => assert.deepEqual(faults, []));

listening.close();
listening.closeAllConnections();

await browser.close();
