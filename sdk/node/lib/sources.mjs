// Whether SDKs hand on what answers rest on: each before every vendor that searches, whole and streamed. What an SDK
// reads of its own vendor, asked without the gateway, is the judge.
import assert from "node:assert/strict";

import { clients } from "../clients/sources.mjs";
import { searchedAlias, vendors } from "./searched.mjs";

const none = "The SDK hands on no sources of its own vendor's answers either.";
const streamed = "Whole answers alone: of a stream without a tool or a document in its request the SDK hands on the text, of its own vendor's, too.";
const unnamed = "The SDK hands on files of a store and addresses alone, not documents of the request.";
const beside = "Perplexity tells sources beside the choices (`search_results`), for which the SDK has no word. Bytes pass untouched.";
const forms = [false, true]; // whole, streamed

export class Sources {
  rows = clients.map(({ name, api }) => ({ name, api, cells: vendors.map((vendor) => ({ feature: vendor.name, outcome: "fails" })) }));

  async hold(test, gateway) {
    for (const [i, client] of clients.entries()) {
      for (const [j, vendor] of vendors.entries()) {
        const cell = this.rows[i].cells[j];
        await test.test(`${client.name} at ${client.api}, ${vendor.name}`, async () => Object.assign(cell, await outcome(gateway, client, vendor)));
      }
    }
  }
}

// outcome asks the vendor by the gateway, and without it where it speaks as the client does, else the client's own.
async function outcome(gateway, client, vendor) {
  const own = vendors.find((v) => v.dialect === client.dialect && v.documents === vendor.documents) ?? vendors.find((v) => v.dialect === client.dialect);
  const same = vendor.dialect === client.dialect;
  const [reads, owns, gots] = await Promise.all(
    [direct(gateway, same ? vendor : own, vendor.wish), direct(gateway, own, own.wish), through(gateway, vendor)].map((x) => Promise.all(forms.map((stream) => client.ask(x, stream)))),
  );
  for (const [i, stream] of forms.entries()) {
    const how = stream ? "streamed" : "whole";
    if (same) assert.deepEqual(gots[i], reads[i], `${how}: read by the gateway, want what is read of the vendor`);
    else if (vendor.documents && client.stores) assert.deepEqual(gots[i].pages, [], `${how}: ${unnamed}`);
    else hold(gots[i], vendor, reads[i], client.blocks && stream, how);
  }
  if (vendor.documents && client.stores && !same) return { outcome: "no", reason: unnamed };
  const [whole, stream] = reads.map((read) => read.pages.length > 0);
  if (whole && stream) return { outcome: "yes" };
  if (owns.every((read) => read.pages.length === 0)) return { outcome: "no", reason: none };
  return whole ? { outcome: "whole", reason: streamed } : { outcome: "no", reason: beside };
}

// hold holds what an SDK got of another vendor's answer: its text, the pages and, where the SDK tells of them for its own
// vendor, their titles and the parts of the text. In a stream of blocks a citation may be of more: what was said before it.
function hold(got, vendor, read, blocks, how) {
  assert.equal(got.text, vendor.text, `${how}: text`);
  const want = read.pages.length > 0 ? vendor.claims : [];
  assert.deepEqual(got.pages.map((page) => page.url), want.map((claim) => claim.url), `${how}: addresses`);
  for (const [i, { title, part, url }] of got.pages.entries()) {
    if (title !== undefined || read.pages[0].title !== undefined) assert.equal(title, want[i].title, `${how}: title of ${url}`);
    if (read.pages[0].part === undefined || want[i].part === undefined) continue;
    if (blocks) assert.ok(part.includes(want[i].part), `${how}: ${url} is of ${JSON.stringify(part)}, want ${JSON.stringify(want[i].part)} in it`);
    else assert.equal(part, want[i].part, `${how}: part of ${url}`);
  }
}

const direct = ({ searched }, vendor, wish) => ({ url: `${searched.url}/${vendor.id}`, key: "sk-any", model: vendor.model, alias: vendor.model, wish, documents: vendor.documents });
const through = ({ url, key }, vendor) => ({ url, key, model: `${vendor.id}/${vendor.model}`, alias: searchedAlias(vendor), wish: vendor.wish, documents: vendor.documents });
