// A person at a browser: who sets up a gateway, connects it to a server, and consents that a program uses it.

import { says } from "../agents/process.mjs";

/** Sets up a gateway by the address that its first start prints, and returns how its operator asks for a page. */
export async function person(setup) {
  const cookies = new Map();
  const ask = async (url, form) => {
    const response = await fetch(url, {
      redirect: "manual", method: form ? "POST" : "GET", body: form && new URLSearchParams(form),
      headers: { cookie: [...cookies].map((c) => c.join("=")).join("; ") },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      cookies.set(name, value);
    }
    return response;
  };
  const done = await ask(setup, { email: "ada@example.com", name: "Ada", password: "a quiet river at night" });
  if (done.status !== 303) throw new Error(`${setup}: ${done.status} ${await done.text()}`);
  return ask;
}

/** Connects a gateway to a server for all, and returns why that fails; nothing if it works. */
export async function connect(ask, gateway, server) {
  const begun = await ask(`${gateway}/connections/${server}/start?for=all`);
  if (begun.status !== 303) return plain(await begun.text());
  const consented = await fetch(begun.headers.get("location"), { redirect: "manual" });
  if (consented.status !== 302) return `the authorization server answers with ${consented.status}`;
  const done = await ask(consented.headers.get("location"));
  return done.status === 303 && done.headers.get("location").endsWith("done=connected") ? "" : plain(await done.text());
}

/** Registers a program at a gateway's authorization server, and returns its id. */
export async function program(gateway, redirect) {
  const response = await fetch(`${gateway}/oauth/register`, {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "suite", redirect_uris: [redirect], token_endpoint_auth_method: "none" }),
  });
  return (await response.json()).client_id;
}

/** Consents as soon as a program has written the address at which it asks. */
export const consents = (ask, gateway) => async (child) => {
  const address = await says(child, new RegExp(`^(${gateway}/oauth/authorize\\S+)$`, "m"));
  const asked = await (await ask(address)).text();
  const value = (pattern) => pattern.exec(asked)?.[1].replaceAll("&amp;", "&");
  const account = value(/name="account"[^]*?<option value="([^"]+)"/) ?? value(/name="account"[^>]*value="([^"]+)"/);
  const answered = await ask(`${gateway}/oauth/authorize`, { query: value(/name="query" value="([^"]*)"/), account, answer: "allow" });
  if (answered.status !== 303) throw new Error(`consent: ${answered.status} ${plain(await answered.text())}`);
  await fetch(answered.headers.get("location"));
};

/** The words of a page. */
const plain = (html) => html.replace(/<(style|script)[^]*?<\/\1>/g, "").replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").slice(0, 600);
