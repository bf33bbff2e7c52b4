// The strict simulator as the judge of requests: what it refuses for its form, the vendor refuses.

/** What the simulator says to a request for a vendor's model; undefined where it takes it. */
export async function refusal(simulator, vendor, format, path, body) {
  const options = `vendor=${vendor.name},tokens=1${format.signs ? ",signed" : ""}`;
  const asked = `${vendor.model}/chat:${options}`;
  const judged = format.inBody ? { ...body, model: asked } : body;
  const where = format.inBody ? path : path.replace(/(models?\/)[^:/]+/, `$1${encodeURIComponent(asked)}`);
  const reply = await fetch(simulator + where, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(judged) });
  const text = await reply.text();
  return reply.ok ? undefined : { status: reply.status, text, type: reply.headers.get("content-type") ?? "application/json" };
}

/** Thinking with the signature that the simulator knows again, which it says for once. */
export async function thinking(simulator) {
  const body = { model: "reason:tokens=1,reasoning=8", max_tokens: 2000, thinking: { type: "enabled", budget_tokens: 1024 }, messages: [{ role: "user", content: "Think" }] };
  const reply = await fetch(`${simulator}/v1/messages`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const { content } = await reply.json();
  const { thinking: text, signature } = content.find((block) => block.type === "thinking");
  return { text, signature };
}
