// What the suites share: a browser whose pages are watched, people with a browser of their own, and steps.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const told = JSON.parse(process.argv[2]);
export const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});
process.once("SIGTERM", () => browser.close().finally(() => process.exit(1)));

export const faults = []; // what no page may do
const home = new URL(told.base).origin;
export const named = home.replace("127.0.0.1", "localhost"); // passkeys need the name of a host
const issuer = new URL(told.issuer).origin; // of another host, where people go

// person is a browser of somebody's own.
export async function person(options = {}) {
  const context = await browser.newContext({ baseURL: told.base, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.on("console", (m) => {
    if (m.type() === "error" && page.url().startsWith(home) && !page.expecting?.test(m.text())) faults.push(`${page.url()}: console: ${m.text()}`);
  });
  page.on("pageerror", (e) => faults.push(`${page.url()}: ${e}`));
  page.on("request", (r) => {
    const { origin, protocol } = new URL(r.url());
    const theirs = origin === issuer && (r.isNavigationRequest() || page.url().startsWith(issuer)); // somebody went there
    if (protocol !== "data:" && origin !== home && origin !== named && !theirs) faults.push(`${page.url()}: request to ${origin}`);
  });
  return page;
}

export async function step(name, run) {
  const began = Date.now();
  try {
    await run();
    console.log(`ok    ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    console.log(`FAIL  ${name}: ${error.stack}`);
    for (const page of browser.contexts().flatMap((c) => c.pages())) {
      console.log(`${page.url()}: ${(await page.locator("body").innerText()).slice(0, 1000)}`);
    }
    await browser.close();
    process.exit(1);
  }
}

export const shown = (page, text) => page.getByText(text).first().waitFor();
export const heading = (page, text) => page.getByRole("heading", { level: 1, name: text }).waitFor();

// within waits until ask gives what is wanted.
export async function within(ms, what, ask) {
  const end = Date.now() + ms;
  for (;;) {
    if (await ask()) return;
    assert.ok(Date.now() < end, `${what}: not within ${ms} ms`);
    await new Promise((next) => setTimeout(next, 25));
  }
}
