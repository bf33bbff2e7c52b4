// The dashboard as people use it. Steps come in their order: each stands on what
// the one before left.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

import { axe, browser, faults, heading, named, person, shown, step, told, within } from "./browser.mjs";

async function chat(key, model) {
  return fetch(`${told.base}/v1/chat`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ ...(model && { model }), messages: [{ role: "user", prompt: "Hello!" }] }),
  });
}

const ada = await person();
let key = "";

await step("set-up: the one-time link makes the first operator, signed in", async () => {
  await ada.goto(told.setup);
  await ada.getByLabel("Name").fill("Ada Lovelace");
  await ada.getByLabel("E-mail").fill("ada@example.com");
  await ada.getByLabel("Password", { exact: false }).first().fill("a weir measures a river");
  await ada.getByRole("button").filter({ hasText: /set up|begin|make|create/i }).first().click();
  await heading(ada, "Overview");
  assert.match(ada.url(), /\/accounts\/default/);
  const again = await person();
  again.expecting = /404/;
  const answer = await again.goto(told.setup);
  assert.equal(answer.status(), 404, "the link is good once");
  await again.context().close();
});

await step("a key is generated, shown once, copied, and chats", async () => {
  await ada.goto("/accounts/default/keys");
  await ada.getByRole("link", { name: "Generate New Key" }).first().click();
  await ada.getByLabel("Label").fill("browser");
  await ada.getByRole("button", { name: "Generate key" }).click();
  await heading(ada, "Your new key");
  key = (await ada.locator("#key").textContent()).trim();
  assert.match(key, /^wk_[0-9A-Za-z]{46}$/);
  await ada.locator('[data-copy="key"]').click();
  assert.equal(await ada.evaluate(() => navigator.clipboard.readText()), key);
  assert.ok((await ada.locator("pre").first().textContent()).includes(told.base), "the snippet carries the real address");
  const answer = await chat(key);
  assert.equal(answer.status, 200, await answer.text());
});

await step("the key is not shown again", async () => {
  await ada.goto("/accounts/default/keys");
  await shown(ada, "browser");
  await ada.reload();
  const text = await ada.content();
  assert.ok(!text.includes(key), "no page has the key again");
  assert.ok(text.includes(key.slice(-4)), "its last four characters tell it from others");
});

await step("usage and requests show the request", async () => {
  await within(4000, "usage", async () => {
    await ada.goto("/accounts/default/usage");
    return /demo\//.test(await ada.locator("main").textContent());
  });
  await ada.goto("/accounts/default/requests");
  await ada.locator("main a[href*='/requests/']").first().click();
  await heading(ada, /request/i);
});

await step("the playground streams from two models side by side", async () => {
  await ada.goto("/accounts/default/playground");
  const model = await ada.locator("#model-1").inputValue();
  await ada.locator("#model-2").fill(model);
  await ada.locator("#say").fill("Tell me of rivers.");
  await ada.getByRole("button", { name: "Send" }).click();
  for (const pane of await ada.locator("[data-pane]").all()) {
    await pane.locator(".figures").filter({ hasText: /tokens in.*\$/ }).waitFor();
    assert.ok((await pane.locator(".answer").textContent()).length > 5, "there is an answer");
  }
  await ada.locator("#model-1").fill("demo/tools");
  await ada.locator("#model-2").fill("");
  await ada.getByText("Instructions and parameters").click();
  await ada.locator("#tools").fill('[{"type":"function","function":{"name":"level","parameters":{"type":"object"}}}]');
  await ada.locator("#images").setInputFiles({ name: "river.png", mimeType: "image/png", buffer: Buffer.from("not looked at") });
  await ada.locator("#say").fill("How high is it?");
  await ada.getByRole("button", { name: "Send" }).click();
  const pane = ada.locator("[data-pane]").first();
  await pane.locator(".asked").filter({ hasText: "river.png" }).waitFor();
  await pane.locator(".call").filter({ hasText: "level(" }).waitFor();
  await ada.locator("#say").fill("3 m");
  await ada.getByRole("button", { name: "Send" }).click();
  await pane.locator(".figures").nth(2).waitFor();
  assert.equal(await pane.locator(".failed").count(), 0, "a tool's result follows its call");
  await ada.getByRole("button", { name: "Copy as curl" }).click();
  assert.match(await ada.evaluate(() => navigator.clipboard.readText()), /^curl http.*chat\/completions/);
});

await step("the list of models follows what is typed, and its names are copied", async () => {
  await ada.goto("/accounts/default/models");
  const rows = ada.locator("#found tbody tr");
  const before = await rows.count();
  await ada.getByLabel("Name").fill("demo/echo");
  await within(3000, "fewer models", async () => (await rows.count()) < before);
  const name = (await rows.first().locator("th span[id]").textContent()).trim();
  assert.match(name, /demo\/echo/);
  await rows.first().locator("[data-copy]").click();
  assert.equal(await ada.evaluate(() => navigator.clipboard.readText()), name);
});

let link = "";
await step("somebody is invited by a link, and comes in with their role", async () => {
  await ada.goto("/accounts/default/members");
  await ada.getByLabel("E-mail").fill("bob@example.com");
  await ada.locator("#f-role").selectOption("member");
  await ada.getByRole("button", { name: "Invite", exact: true }).click();
  link = (await ada.locator("#link").textContent()).trim();
  const bob = await person();
  await bob.goto(link);
  await bob.getByLabel("Name").fill("Bob");
  await bob.getByLabel("Password", { exact: false }).first().fill("the pass phrase of bob");
  await bob.locator("main button[type=submit]").first().click();
  await heading(bob, "Overview");
  bob.expecting = /403/;
  const refused = await bob.goto("/operator/accounts");
  assert.equal(refused.status(), 403, "a member is no operator");
  bob.expecting = undefined;
  await bob.goto("/accounts/default/keys/new");
  await bob.getByLabel("Label").fill("bob's");
  await bob.getByRole("button", { name: "Generate key" }).click();
  await heading(bob, "Your new key");
  await bob.getByRole("button", { name: "Sign out" }).first().click();
  await heading(bob, "Sign in");
  bob.expecting = /4\d\d/;
  await bob.getByLabel("E-mail").fill("bob@example.com");
  await bob.getByLabel("Password").fill("not the pass phrase");
  await bob.getByRole("button", { name: "Sign in" }).click();
  await shown(bob, /is wrong/);
  bob.expecting = undefined;
  await bob.getByLabel("E-mail").fill("bob@example.com");
  await bob.getByLabel("Password").fill("the pass phrase of bob");
  await bob.getByRole("button", { name: "Sign in" }).click();
  await heading(bob, "Overview");
  await bob.context().close();
});

// totp is the code of an authenticator app (RFC 6238).
function totp(secret) {
  const bits = [...secret].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000)));
  const sum = createHmac("sha1", key).update(step).digest();
  return String((sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1e6).padStart(6, "0");
}

await step("a passkey stands in for the code of the authenticator app", async () => {
  const bob = await person({ baseURL: named });
  const device = await bob.context().newCDPSession(bob);
  await device.send("WebAuthn.enable");
  await device.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  const signIn = async () => {
    await bob.goto("/sign-in");
    await bob.getByLabel("E-mail").fill("bob@example.com");
    await bob.getByLabel("Password").fill("the pass phrase of bob");
    await bob.getByRole("button", { name: "Sign in", exact: true }).click();
  };
  await signIn();
  await bob.goto("/me/second-factor");
  await bob.getByLabel("Code that the app shows").fill(totp((await bob.locator("#secret").textContent()).trim()));
  await bob.getByLabel("Current password").fill("the pass phrase of bob");
  await bob.getByRole("button", { name: "Set up" }).click();
  await shown(bob, "The second factor is set up.");
  await bob.goto("/me");
  await bob.getByRole("link", { name: "Add a passkey" }).click();
  await bob.getByLabel("Name").fill("Laptop");
  await bob.getByLabel("Current password").fill("the pass phrase of bob");
  await bob.getByRole("button", { name: "Add the passkey" }).click();
  await shown(bob, "The passkey was added.");
  await bob.getByRole("button", { name: "Sign out" }).first().click();
  await signIn();
  await heading(bob, "Second factor");
  await bob.getByRole("button", { name: "Use a passkey" }).click();
  await heading(bob, "Overview");
  await bob.goto("/me");
  await bob.getByRole("row", { name: /Laptop/ }).getByText(/ago|now/i).first().waitFor();
  await bob.getByLabel("Current password").last().fill("the pass phrase of bob");
  await bob.getByRole("button", { name: "Remove the second factor" }).click();
  await shown(bob, "The second factor was removed.");
  await bob.context().close();
});

await step("a suspended account answers 403, and a resumed one again", async () => {
  await ada.goto("/operator/accounts/default");
  await ada.getByRole("button", { name: /Suspend/ }).first().click();
  await ada.locator("[popover]:popover-open button[type=submit]").click();
  await within(1000, "403", async () => (await chat(key)).status === 403);
  await ada.getByRole("button", { name: /Resume/ }).first().click();
  const confirm = ada.locator("[popover]:popover-open button[type=submit]");
  if (await confirm.isVisible().catch(() => false)) await confirm.click();
  await within(2000, "200", async () => (await chat(key)).status === 200);
});

await step("single sign-on lets in whom the provider knows, with the role of their group", async () => {
  await ada.goto("/operator/accounts");
  await ada.locator("main form[action$=create] input").first().fill("research");
  await ada.getByRole("button", { name: "Create account" }).click();
  await ada.goto("/accounts/research/members");
  await shown(ada, /come from groups in Example ID/);
  const grace = await person();
  await grace.goto("/sign-in");
  await grace.getByRole("link", { name: /Example ID/ }).click();
  await grace.getByRole("button", { name: "grace@example.com" }).click();
  await heading(grace, "Overview");
  assert.equal(await grace.getByRole("link", { name: "Generate New Key" }).count(), 0, "a viewer makes no keys");
  await grace.context().close();
});

await step("without a script: sign in, see usage, generate a key and revoke it", async () => {
  const plain = await person({ javaScriptEnabled: false });
  await plain.goto("/sign-in");
  await plain.getByLabel("E-mail").fill("ada@example.com");
  await plain.getByLabel("Password").fill("a weir measures a river");
  await plain.getByRole("button", { name: "Sign in" }).click();
  await heading(plain, "Overview");
  await plain.goto("/accounts/default/usage");
  assert.match(await plain.locator("main").textContent(), /demo\//);
  await plain.goto("/accounts/default/keys/new");
  await plain.getByLabel("Label").fill("plain");
  await plain.getByRole("button", { name: "Generate key" }).click();
  const made = (await plain.locator("#key").textContent()).trim();
  assert.equal((await chat(made)).status, 200);
  await plain.goto("/accounts/default/keys");
  await plain.locator("tr").filter({ hasText: made.slice(-4) }).getByRole("button", { name: /Revoke/ }).click();
  await plain.locator("[popover]:popover-open button[type=submit]").click();
  await within(1000, "401", async () => (await chat(made)).status === 401);
  await plain.context().close();
});

// receiver is a program that is told of events. It answers what one says.
const receiver = { status: 204, came: [] };
const listening = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  receiver.came.push({ headers: request.headers, body });
  response.writeHead(receiver.status).end(`answer ${receiver.status}`);
}).listen(0, "127.0.0.1");
await new Promise((ready) => listening.once("listening", ready));

// verified is an event that came, once its signature is found right.
function verified({ headers, body }, secret) {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const right = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64");
  assert.ok(headers["webhook-signature"].split(" ").includes(`v1,${right}`), "the signature is of the secret that was shown");
  assert.ok(Math.abs(Date.now() / 1000 - headers["webhook-timestamp"]) < 300, "it was sent just now");
  const event = JSON.parse(body);
  assert.equal(event.id, headers["webhook-id"]);
  return event;
}

const came = (n) => within(10000, `${n} events`, async () => receiver.came.length >= n);
let hook = "", delivery = "", secret = "";

await step("a webhook is added, and its secret is shown once", async () => {
  await ada.goto("/accounts/default/webhooks");
  await shown(ada, "No webhooks");
  await ada.getByRole("link", { name: "Add an endpoint" }).click();
  await ada.getByLabel(/^key\.created/).check();
  await ada.getByLabel(/Allow a private address/).check();
  ada.expecting = /422/;
  await ada.getByLabel("Address", { exact: true }).fill("ftp://example.com/");
  await ada.getByRole("button", { name: "Add the endpoint" }).click();
  await shown(ada, /The address .* is invalid/);
  ada.expecting = undefined;
  assert.ok(await ada.getByLabel(/^key\.created/).isChecked(), "what was chosen is there yet");
  await ada.getByLabel("Address", { exact: true }).fill(`http://127.0.0.1:${listening.address().port}/hook`);
  await ada.getByRole("button", { name: "Add the endpoint" }).click();
  secret = (await ada.locator("#secret").textContent()).trim();
  assert.match(secret, /^whsec_/);
  await ada.locator('[data-copy="secret"]').click();
  assert.equal(await ada.evaluate(() => navigator.clipboard.readText()), secret);
  await ada.getByRole("link", { name: "Back to the endpoint" }).click();
  await heading(ada, "Webhook endpoint");
  hook = new URL(ada.url()).pathname;
  assert.ok(!(await ada.content()).includes(secret), "no page has the secret again");
});

await step("a test event and a new key's arrive, signed", async () => {
  await ada.getByRole("button", { name: "Send a test event" }).click();
  await shown(ada, /A test event was queued/);
  await came(1);
  assert.equal(verified(receiver.came[0], secret).type, "webhook.test");
  await ada.goto("/accounts/default/keys/new");
  await ada.getByLabel("Label").fill("told");
  await ada.getByRole("button", { name: "Generate key" }).click();
  await came(2);
  const event = verified(receiver.came[1], secret);
  assert.deepEqual([event.type, event.data.key.label], ["key.created", "told"]);
  await within(5000, "delivered", async () => {
    await ada.goto(`${hook}?state=delivered`);
    return (await ada.locator("main tbody tr").count()) === 2;
  });
});

await step("a delivery shows what was sent and answered, and is sent again", async () => {
  await ada.locator("main tbody a").filter({ hasText: "key.created" }).click();
  await heading(ada, "Delivery");
  delivery = new URL(ada.url()).pathname;
  await shown(ada, /"label": "told"/);
  await shown(ada, "204");
  await ada.getByRole("button", { name: "Send again" }).click();
  await came(3);
  verified(receiver.came[2], secret);
  assert.equal(receiver.came[2].headers["webhook-id"], receiver.came[1].headers["webhook-id"], "it is the same event");
});

await step("a rotated secret signs beside the one before it", async () => {
  await ada.goto(hook);
  await ada.getByRole("button", { name: /Rotate the secret/ }).first().click();
  await ada.locator("[popover]:popover-open button[type=submit]").click();
  const other = (await ada.locator("#secret").textContent()).trim();
  assert.notEqual(other, secret);
  await ada.getByRole("link", { name: "Back to the endpoint" }).click();
  await ada.getByRole("button", { name: "Send a test event" }).click();
  await came(4);
  verified(receiver.came[3], secret);
  verified(receiver.came[3], other);
});

await step("a 410 disables the endpoint, which is told of and enabled again", async () => {
  receiver.status = 410;
  await ada.goto(hook);
  await ada.getByRole("button", { name: "Send a test event" }).click();
  await came(5);
  await within(5000, "disabled", async () => {
    await ada.goto(hook);
    return /answered 410/.test(await ada.locator("main").textContent());
  });
  await ada.goto("/accounts/default");
  await shown(ada, "A webhook endpoint has not received events");
  await ada.locator(".note a").click();
  receiver.status = 204;
  await ada.getByRole("button", { name: "Enable the endpoint" }).click();
  await shown(ada, "The endpoint is enabled");
  await ada.getByRole("button", { name: "Send a test event" }).click();
  await came(6);
  await ada.locator("main tbody a").nth(1).click();
  await shown(ada, "answer 410");
});

await step("without a script: an endpoint is added, tested and removed", async () => {
  const plain = await person({ javaScriptEnabled: false, storageState: await ada.context().storageState() });
  await plain.goto("/operator/webhooks/new");
  await plain.getByLabel("Address", { exact: true }).fill(`http://127.0.0.1:${listening.address().port}/all`);
  await plain.getByLabel(/Allow a private address/).check();
  await plain.getByRole("button", { name: "Add the endpoint" }).click();
  const theirs = (await plain.locator("#secret").textContent()).trim();
  await plain.getByRole("link", { name: "Back to the endpoint" }).click();
  await plain.getByRole("button", { name: "Send a test event" }).click();
  await came(7);
  verified(receiver.came[6], theirs);
  await plain.getByRole("button", { name: /^Remove/ }).click();
  await plain.locator("[popover]:popover-open button[type=submit]").click();
  await shown(plain, "No webhooks");
  await plain.context().close();
});

await step("without a script: a provider is added and tested, an alias and a price are made, a change is undone", async () => {
  const vendor = createServer((request, answer) => {
    const known = request.headers.authorization === "Bearer a-key-of-the-house-1234";
    answer.writeHead(known ? (request.url === "/v1/models" ? 200 : 404) : 401, { "Content-Type": "application/json" });
    answer.end(known ? '{"data":[{"id":"small"},{"id":"large"}]}' : '{"error":{"message":"no such key"}}');
  });
  await new Promise((ready) => vendor.listen(0, "127.0.0.1", ready));
  const address = `http://127.0.0.1:${vendor.address().port}`;
  const plain = await person({ javaScriptEnabled: false, storageState: await ada.context().storageState() });
  plain.expecting = /422/;
  await plain.goto("/operator/providers");
  await plain.getByRole("link", { name: "Add a provider" }).click();
  await plain.getByLabel("Name", { exact: true }).fill("house");
  await plain.getByLabel("API key").fill("a-key-of-the-house-1234");
  await plain.getByLabel("Wire format").selectOption("openai");
  await plain.getByLabel("Base URL").fill(address);
  await plain.getByLabel(/Allow a private address/).check();
  await plain.getByRole("button", { name: "Test and save" }).click();
  await shown(plain, `its API is at ${address}/v1`);
  await plain.getByLabel("API key").fill("a-key-of-the-house-1234");
  await plain.getByLabel("Base URL").fill(`${address}/v1`);
  await plain.getByRole("button", { name: "Test and save" }).click();
  await shown(plain, "The provider was saved");
  plain.expecting = undefined;
  await plain.getByRole("button", { name: "Test the provider" }).click();
  await shown(plain, "The provider lists 2 models");
  await plain.goto("/operator/configuration");
  await plain.getByRole("link", { name: "Add an alias" }).click();
  await plain.getByLabel("Name", { exact: true }).fill("fast");
  await plain.getByLabel("Model of target 1").fill("house/small");
  await plain.getByLabel("Model of target 2").fill("house/large");
  await plain.getByRole("button", { name: "Save" }).click();
  await shown(plain, "The configuration was changed");
  await plain.getByRole("link", { name: "Add a price" }).click();
  await plain.getByLabel("Model").fill("house/small since 2027-01-31");
  await plain.getByLabel("Input").fill("0.15");
  await plain.getByLabel("Output").fill("0.60");
  await plain.getByRole("button", { name: "Save" }).click();
  await shown(plain, "since 2027-01-31");
  await plain.getByRole("button", { name: /^Undo/ }).click();
  await plain.locator("[popover]:popover-open button[type=submit]").click();
  await shown(plain, "The configuration was changed");
  assert.equal(await plain.locator("#h-prices").locator("xpath=ancestor::section").getByText("since 2027").count(), 0, "the price is gone");
  await plain.context().close();
  vendor.close();
  vendor.closeAllConnections();
});

// tour is every page that there is for an operator who owns the account.
async function tour() {
  await ada.goto("/accounts/default");
  const found = new Set(["/", "/sign-in", "/forgot", "/me", "/design"]);
  for (const link of await ada.locator("a[href^='/']").all()) {
    const path = await link.getAttribute("href");
    if (!/^\/(openapi|oidc)|\?/.test(path)) found.add(path.split("#")[0]);
  }
  found.add("/accounts/default/keys/new");
  for (const path of ["providers/new", "providers/house", "providers/house/reconciliation", "configuration/edit?section=aliases", "configuration/edit?section=aliases&name=fast", "configuration/edit?section=limits"]) {
    found.add(`/operator/${path}`);
  }
  found.add("/operator/accounts/default");
  for (const path of ["/accounts/default/webhooks/new", "/operator/webhooks/new", hook, delivery]) found.add(path);
  for (const path of ["/docs", "/docs/concepts", "/docs/configuration", "/docs/reference/commands", "/docs/search?q=budget"]) found.add(path);
  await ada.goto("/accounts/default/requests");
  found.add(await ada.locator("main a[href*='/requests/']").first().getAttribute("href"));
  await ada.goto("/accounts/default/keys");
  found.add(await ada.locator("main a[href*='/keys/']:not([href$=new])").first().getAttribute("href"));
  await ada.goto("/operator/people");
  found.add(await ada.locator("main a[href*='/operator/people/']").first().getAttribute("href"));
  for (const path of ["/me/second-factor", "/accounts/default/usage?group_by=key", "/accounts/default/usage?tag=project&sort=cost", "/accounts/default/usage?metric=saved", "/accounts/default?range=24h"]) found.add(path);
  for (const path of ["/connections", "/accounts/default/statements/draft", "/accounts/default/requests?ended=refused", "/operator/usage?range=24h"]) found.add(path);
  return [...found];
}

await step("every page: axe finds nothing, in light, dark and on a phone", async () => {
  const state = await ada.context().storageState();
  const paths = await tour();
  const wrong = [];
  if (told.shots) mkdirSync(told.shots, { recursive: true });
  const all = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
  const colours = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } }; // all that differs in dark
  const visit = async (name, rules, options) => {
    const page = await person({ ...options, storageState: state });
    for (const path of paths) {
      const answer = await page.goto(path);
      if (answer.status() >= 400) wrong.push(`${path}: ${answer.status()}`);
      await page.evaluate(axe);
      const found = await page.evaluate((rules) => window.axe.run(document, rules), rules);
      if (found.passes.length + found.incomplete.length === 0) wrong.push(`${name} ${path}: axe has looked at nothing`);
      for (const v of found.violations) wrong.push(`${name} ${path}: ${v.impact} ${v.id}: ${v.nodes[0].html.slice(0, 160)}`);
      const headings = await page.locator("h1").count();
      if (headings !== 1) wrong.push(`${name} ${path}: ${headings} h1`);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) wrong.push(`${name} ${path}: ${over} px too wide`);
      if (told.shots && !path.includes("?") && path !== "/") {
        const file = path.slice(1).replace(/[0-9a-f-]{36}/g, "one").replaceAll("/", "-");
        await page.screenshot({ path: join(told.shots, `${file}-${name}.png`) });
      }
    }
    await page.context().close();
  };
  await Promise.all([
    visit("light", all, { colorScheme: "light", viewport: { width: 1280, height: 860 } }),
    visit("dark", colours, { colorScheme: "dark", viewport: { width: 1280, height: 860 } }),
    visit("phone", all, { colorScheme: "light", viewport: { width: 375, height: 760 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }),
  ]);
  assert.deepEqual(wrong, []);
  console.log(`      ${paths.length} pages, three times each`);
});

// unreached returns what a pointer can use on a page and the tab key does not reach.
async function unreached(page) {
  const count = await page.evaluate(() => {
    const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]");
    window.missed = new Set([...all].filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.getAttribute("tabindex") !== "-1"));
    addEventListener("focusin", ({ target }) => { // arrow keys choose among radio buttons of one name
      for (const e of window.missed) if (e === target || (e.type === "radio" && e.name === target.name)) window.missed.delete(e);
    });
    document.activeElement.blur();
    return window.missed.size;
  });
  for (let n = 0; n < 8 * count && (await page.evaluate(() => window.missed.size)) > 0; n++) await page.keyboard.press("Tab"); // a date has several stops
  return page.evaluate(() => [...window.missed].map((e) => `${location.pathname}: ${e.outerHTML.slice(0, 160)}`));
}

await step("the tab key reaches everything that a pointer can use", async () => {
  const wrong = [];
  for (const path of [
    "/me", "/accounts/default", "/accounts/default/keys/new", "/accounts/default/usage", "/accounts/default/requests",
    "/accounts/default/playground", "/operator/accounts/default", "/operator/configuration",
    "/operator/configuration/edit?section=aliases&name=fast", "/operator/providers/new", "/accounts/default/alerts",
    "/accounts/default/tools", "/accounts/default/sockets", "/accounts/default/statements/draft", "/operator/alerts",
    "/operator/usage", "/operator/tools", "/operator/webhooks/new", "/connections",
  ]) {
    await ada.goto(path);
    wrong.push(...(await unreached(ada)));
  }
  assert.deepEqual(wrong, []);
});

await step("a revoked key is refused within a second", async () => {
  await ada.goto("/accounts/default/keys");
  const row = ada.locator("tr").filter({ hasText: key.slice(-4) });
  await row.getByRole("button", { name: /Revoke/ }).click();
  await ada.locator("[popover]:popover-open button[type=submit]").click();
  await within(1000, "401", async () => (await chat(key)).status === 401);
});

await step("no console error, no request to another host", async () => assert.deepEqual(faults, []));

listening.close();
listening.closeAllConnections();

await browser.close();
