// Writes the vendors' published schemas of chat requests, and of some of texts to embed, as JSON Schema, a file for each vendor and a definition a line, in which objects
// are closed: a member that the vendor does not publish is an error. "make schemas" runs it in a copy of this folder, with the packages of
// package.json in it. Arguments: the folder to write to, and one with the documents that no package has: openai.yaml and
// mistral.yaml (OpenAPI), bedrock.json (botocore's service-2.json). A file whose document is not there stays as it is.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createGenerator } from "ts-json-schema-generator";
import { parse } from "yaml";
import { fromBotocore, fromOpenAPI, fromProtobuf, snakeCased } from "./convert.mjs";

const [target, documents] = process.argv.slice(2);

const bounds = JSON.parse(readFileSync("bounds.json"));

// Sources of documents: the repository, the file in it, and the commit that was read.
const published = {
  openai: ["openai/openai-openapi", "openapi.yaml", "f85dbe223d40e1a31cba812ab2d755c7e98a92a3", "MIT"],
  responses: ["openai/openai-openapi", "openapi.yaml", "f85dbe223d40e1a31cba812ab2d755c7e98a92a3", "MIT"],
  mistral: ["mistralai/platform-docs-public", "public/openapi.yaml", "222f4ba9114f84ce9f2d718b9a12fbac1e527f4b", "Apache-2.0"],
  bedrock: ["boto/botocore", "botocore/data/bedrock-runtime/2023-09-30/service-2.json", "1.43.67", "Apache-2.0"],
};

const typescript = {
  anthropic: ["@anthropic-ai/sdk", "/resources/messages/messages", "MessageCreateParams"],
  "anthropic-betas": ["@anthropic-ai/sdk", "/resources/beta/messages/messages", "MessageCreateParams"],
  cerebras: ["@cerebras/cerebras_cloud_sdk", "/resources/chat/completions", "ChatCompletionCreateParams"],
  groq: ["groq-sdk", "/resources/chat/completions", "ChatCompletionCreateParams"],
  openrouter: ["@openrouter/sdk", "/models", "ChatRequest$Outbound"],
  cohere: ["cohere-ai", "", "Cohere.V2ChatRequest"],
  "cohere-embed": ["cohere-ai", "", "Cohere.V2EmbedRequest"],
};

writeFileSync("tsconfig.json", JSON.stringify({ compilerOptions: { module: "nodenext", strict: true, skipLibCheck: true, types: [] }, include: ["*.ts"] }));
for (const [vendor, [name, path, type]] of Object.entries(typescript)) {
  writeFileSync(`${vendor}.ts`, `import { type ${type.split(".")[0]} } from "${name}${path}";\nexport type Request = ${type};\n`);
  const generator = createGenerator({ path: `${vendor}.ts`, tsconfig: "tsconfig.json", skipTypeCheck: true, additionalProperties: false, jsDoc: "none" });
  const { definitions } = JSON.parse(JSON.stringify(generator.createSchema("Request")).replaceAll(/(\$|%24)Outbound/g, ""));
  write(vendor, packaged(name), vendor.startsWith("cohere") ? snakeCased(definitions) : definitions);
}

const google = "@google-ai/generativelanguage";
const protos = JSON.parse(readFileSync(`node_modules/${google}/build/protos/protos.json`)).nested;
const beta = protos.google.nested.ai.nested.generativelanguage.nested.v1beta;
write("gemini", packaged(google), fromProtobuf(beta, "GenerateContentRequest"));
write("gemini-embed", packaged(google), fromProtobuf(beta, "BatchEmbedContentsRequest"));

document("openai", "openai.yaml", (text) => fromOpenAPI(parse(text), "CreateChatCompletionRequest"));
document("openai-embed", "openai.yaml", (text) => fromOpenAPI(parse(text), "CreateEmbeddingRequest"));
document("responses", "openai.yaml", (text) => fromOpenAPI(parse(text), "CreateResponse"));
document("mistral", "mistral.yaml", (text) => fromOpenAPI(parse(text), "ChatCompletionRequest"));
document("mistral-embed", "mistral.yaml", (text) => fromOpenAPI(parse(text), "EmbeddingRequest"));
document("bedrock", "bedrock.json", (text) => fromBotocore(JSON.parse(text), "ConverseRequest"));

function document(vendor, file, convert) {
  const path = `${documents}/${file}`;
  if (!documents || !existsSync(path)) return console.log(`${vendor}: no ${file}: it stays as it is`);
  const [repository, place, version, license] = published[vendor.replace("-embed", "")];
  write(vendor, { source: `${repository}: ${place}`, version, license }, convert(readFileSync(path, "utf8")));
}

function packaged(name) {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  return { source: name, version, license: license ?? "MIT" };
}

// Bounds that a vendor publishes in words alone are in bounds.json: the pointer into the definitions, the keywords, and who says so.
function write(vendor, from, definitions) {
  for (const { at, keywords } of bounds[vendor] ?? []) {
    const steps = at.split("/");
    const place = steps.reduce((schema, step) => schema?.[step], definitions);
    if (!place) throw new Error(`${vendor}: nothing at ${at}`);
    Object.assign(place, keywords);
  }
  const lines = Object.entries(definitions).sort().map(([key, schema]) => `${JSON.stringify(key)}: ${JSON.stringify(schema)}`);
  writeFileSync(`${target}/${vendor}.json`, `${JSON.stringify(from).slice(0, -1)}, "definitions": {\n${lines.join(",\n")}\n}}\n`);
}
