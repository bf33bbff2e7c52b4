// A gateway before all vendors for one run: its models are aliases, which go from one vendor to another.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { end, says, start } from "./process.mjs";
import { vendors } from "./vendors.mjs";

export class Gateway {
  constructor(program, home, upstream, aliases) {
    Object.assign(this, { program, home, upstream, aliases });
  }

  async open(vendor) {
    mkdirSync(this.home);
    const provider = (v) => `  ${v.name}: {base_url: "${this.upstream}/${v.name}${v.path}", allow_private: true, api_keys: [sk-any], retries: 0}`;
    writeFileSync(join(this.home, "weir.yaml"), ["providers:", ...vendors.map(provider), ""].join("\n"));
    this.child = this.#weir("serve", "--listen", "127.0.0.1:0");
    this.url = await says(this.child, /^listening on (http:\/\/[0-9.:]+)$/m);
    this.key = await says(this.child, /(wk_[0-9A-Za-z]{46})/);
    const made = this.#weir("keys", "create", "--account", "default", "--label", "operator", "--permission", "admin");
    await made.gone;
    this.operator = made.text.trim();
    await this.turnTo(vendor);
  }

  /** Has the aliases lead to a vendor's model. */
  async turnTo(vendor) {
    const targets = [`${vendor.name}/${vendor.model}`];
    const aliases = Object.fromEntries(this.aliases.map((alias) => [alias, { targets }]));
    const { version } = await this.#config({ method: "POST", body: JSON.stringify({ document: { aliases } }) });
    while ((await this.#config({})).version_in_force < version) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  async #config(request) {
    const headers = { authorization: `Bearer ${this.operator}`, "content-type": "application/json" };
    const reply = await fetch(`${this.url}/admin/v1/config`, { ...request, headers });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`managed configuration: ${reply.status} ${text}`);
    return JSON.parse(text);
  }

  close() {
    end(this.child);
  }

  #weir(...args) {
    return start(this.program, args, { cwd: this.home, env: { HOME: this.home, PATH: process.env.PATH } });
  }
}
