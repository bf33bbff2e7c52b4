// A cell is one feature of one client before one provider, and how it ended.
import assert from "node:assert/strict";

import { failure } from "./features.mjs";
import { lackOf } from "./lacks.mjs";

let questions = 0; // gives every question a model's name of its own

export class Cell {
  outcome = "fails";
  reason = ""; // why it is not offered, in the gateway's words

  constructor(client, provider, feature) {
    Object.assign(this, { client, provider, feature });
  }

  async run(gateway) {
    const test = new Test(gateway, this.client, this.provider);
    const lack = lackOf(this.provider, this.feature.name);
    if (!lack) {
      await this.feature.run(test);
      this.outcome = "yes";
      return;
    }
    const error = await failure(this.feature.run(test), "what is not offered");
    const told = this.client.told(error);
    assert.ok(error instanceof this.client.classes[lack.status], error.stack);
    assert.equal(told.status, lack.status);
    assert.match(told.message, lack.message);
    assert.ok(told.param, "the refusal names no parameter");
    Object.assign(this, { outcome: lack.outcome, reason: lack.message.exec(told.message)[0] });
  }
}

// Test is what a feature has at hand.
class Test {
  constructor(gateway, client, provider) {
    Object.assign(this, { gateway, client, provider });
  }

  /** Whom to ask: a model of the simulator that nobody else asks. */
  ask(base, ...options) {
    const upstream = [`${base}:seed=${++questions}`, ...options].join(",");
    const pieces = [];
    return {
      url: this.gateway.url,
      key: this.gateway.key,
      model: `${this.provider}/${upstream}`,
      upstream, // the model's name at the simulator
      pieces, // what came of the answer's text
      piece: (text) => pieces.push(text),
    };
  }

  /** The simulator's record of the answer, which was served whole in the provider's wire format. */
  async served(x, dialect = this.provider) {
    const record = await this.gateway.record(x.upstream, (r) => r.outcome === "served");
    assert.equal(record.dialect, dialect);
    return record;
  }
}
