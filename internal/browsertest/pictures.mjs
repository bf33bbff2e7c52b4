// The README's pictures: of a gateway with two months of use behind it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const told = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"] });
process.once("SIGTERM", () => browser.close().finally(() => process.exit(1)));
mkdirSync(told.to, { recursive: true });

const context = await browser.newContext({ baseURL: told.base });
const page = await context.newPage();
await page.goto(told.link);
await page.getByLabel("Name").fill("Ada Lovelace");
await page.getByLabel("Password", { exact: false }).first().fill("a weir measures a river");
await page.locator("main button[type=submit]").first().click();
await page.waitForURL((url) => !url.pathname.startsWith("/invite"));
const state = await context.storageState();

const account = "/accounts/account-000010";
await page.goto(`${account}/requests`);
const request = await page.locator("main a[href*='/requests/0']").first().getAttribute("href");

for (const [name, path, options] of [
  ["overview", account, { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["request", request, { colorScheme: "light", viewport: { width: 1280, height: 900 } }],
  ["usage", `${account}/usage`, { colorScheme: "dark", viewport: { width: 1280, height: 900 } }],
  ["phone", account, { colorScheme: "light", viewport: { width: 375, height: 812 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }],
]) {
  const shown = await (await browser.newContext({ baseURL: told.base, storageState: state, ...options })).newPage();
  const answer = await shown.goto(path);
  if (answer.status() !== 200) throw new Error(`${path}: ${answer.status()}`);
  await shown.screenshot({ path: join(told.to, `${name}.png`) });
  console.log(`ok    ${name}.png`);
}
await browser.close();
