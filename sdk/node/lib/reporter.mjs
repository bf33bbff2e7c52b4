// A reporter for node:test: a line for each suite, all of what failed, and the sum.
export default async function* report(source) {
  let failed = 0;
  let passed = 0;
  for await (const { type, data } of source) {
    if (type === "test:stdout" || type === "test:stderr") yield data.message;
    if (type !== "test:pass" && type !== "test:fail") continue;
    const suite = data.details?.type === "suite";
    if (suite && data.nesting === 0) yield `${data.name} (${Math.round(data.details.duration_ms)} ms)\n`;
    if (suite) continue;
    if (type === "test:pass") passed++;
    else {
      failed++;
      const error = data.details.error?.cause ?? data.details.error;
      yield `FAILED ${data.name}\n${indent(error?.stack ?? String(error))}\n`;
    }
  }
  yield `${passed} passed, ${failed} failed\n`;
}

const indent = (text) => text.replace(/^/gm, "    ");
