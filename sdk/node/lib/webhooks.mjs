// A webhook as its receiver sees it: the libraries that check signatures of Standard
// Webhooks take what the gateway sends, also while a secret is being changed, and
// refuse everything else.
import assert from "node:assert/strict";
import { createServer } from "node:http";

import OpenAI from "openai";
import { Webhook } from "standardwebhooks";

/** Sends a test event that two secrets sign, and has it checked. */
export async function webhooks(gateway) {
  const receiver = new Receiver();
  try {
    const first = await gateway.weir("webhooks", "add", await receiver.open(), "--allow-private");
    const [id] = /[0-9a-f-]{36}/.exec(await gateway.weir("webhooks", "list"));
    const secrets = [first, await gateway.weir("webhooks", "rotate-secret", id)].map((secret) => secret.trim());
    await gateway.weir("webhooks", "test", id);
    const { headers, body } = await receiver.got;
    for (const secret of secrets) {
      const event = new Webhook(secret).verify(body, headers);
      assert.deepEqual([event.type, event.id, event.data.webhook_id], ["webhook.test", headers["webhook-id"], id]);
      assert.deepEqual(await new OpenAI({ apiKey: "any" }).webhooks.unwrap(body, headers, secret), event);
    }
    const right = secrets[1];
    assert.throws(() => new Webhook(right).verify(`${body} `, headers), /signature/);
    assert.throws(() => new Webhook(right).verify(body, { ...headers, "webhook-id": "another" }), /signature/);
    assert.throws(() => new Webhook(right.replace(/.{8}$/, "AAAAAAA=")).verify(body, headers), /signature/);
  } finally {
    receiver.close();
  }
}

// Receiver takes requests; got is the first one.
class Receiver {
  constructor() {
    this.got = new Promise((resolve) => {
      this.server = createServer((request, response) => {
        let body = "";
        request.on("data", (data) => (body += data));
        request.on("end", () => {
          response.writeHead(204).end();
          resolve({ headers: request.headers, body });
        });
      });
    });
  }

  open() {
    return new Promise((resolve) => this.server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${this.server.address().port}/hooks`)));
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
