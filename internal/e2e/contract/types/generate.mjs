// Writes the vendors' published types of what they answer as JSON Schema: a file for each vendor, a definition a line.
// "make answers" runs it in a copy of this folder, with the packages of package.json in it; its argument is the folder to write to.
import { readFileSync, writeFileSync } from "node:fs";
import { createGenerator } from "ts-json-schema-generator";

// Objects are closed: a member that the vendor's type does not have is an error.
const typescript = {
  "openai.json": {
    package: "openai",
    roots: {
      ChatCompletion: "OpenAI.Chat.ChatCompletion",
      ChatCompletionChunk: "OpenAI.Chat.ChatCompletionChunk",
      Response: "OpenAI.Responses.Response",
      ResponseStreamEvent: "OpenAI.Responses.ResponseStreamEvent",
      Error: "{ error: OpenAI.ErrorObject }",
    },
  },
  "anthropic.json": {
    package: "@anthropic-ai/sdk",
    roots: { Message: "Vendor.Message", MessageStreamEvent: "Vendor.RawMessageStreamEvent", Error: "Vendor.ErrorResponse" },
  },
};

const target = process.argv[2];
writeFileSync("tsconfig.json", JSON.stringify({ compilerOptions: { module: "nodenext", strict: true, skipLibCheck: true, types: [] }, include: ["*.ts"] }));
for (const [file, vendor] of Object.entries(typescript)) {
  const source = file.replace(".json", ".ts");
  const types = Object.entries(vendor.roots).map(([name, type]) => `export type Root${name} = ${type.replace(/^Vendor|OpenAI/, "Vendor")};`);
  writeFileSync(source, [`import Vendor from "${vendor.package}";`, ...types].join("\n"));
  const generator = createGenerator({ path: source, tsconfig: "tsconfig.json", skipTypeCheck: true, additionalProperties: false, jsDoc: "none" });
  const definitions = {};
  for (const name of Object.keys(vendor.roots)) Object.assign(definitions, generator.createSchema(`Root${name}`).definitions);
  write(file, vendor.package, definitions);
}

// Google publishes its types as protocol buffers, whose JSON has rules of its own.
const scalars = {
  string: { type: "string" }, bytes: { type: "string" }, bool: { type: "boolean" }, int32: { type: "integer" },
  int64: { type: ["integer", "string"] }, float: { type: "number" }, double: { type: "number" },
  "google.protobuf.Struct": { type: "object" }, "google.protobuf.Value": {}, "google.protobuf.ListValue": { type: "array" },
  "google.protobuf.Duration": { type: "string" }, "google.protobuf.Timestamp": { type: "string" },
};
const google = "@google-ai/generativelanguage";
const tree = JSON.parse(readFileSync(`node_modules/${google}/build/protos/protos.json`)).nested;
const beta = tree.google.nested.ai.nested.generativelanguage.nested.v1beta;
const messages = {};
reference("GenerateContentResponse", [beta]);
write("gemini.json", google, messages);

function reference(type, scopes) {
  if (scalars[type]) return scalars[type];
  const scope = scopes.find((s) => s.nested?.[type]);
  if (!scope) throw new Error(`no type ${type}`);
  const name = scope.name ? `${scope.name}.${type}` : type;
  const ref = { $ref: `#/definitions/Root${name}` };
  if (messages[`Root${name}`]) return ref;
  const found = scope.nested[type];
  messages[`Root${name}`] = {}; // it may hold itself
  messages[`Root${name}`] = found.values ? { enum: Object.keys(found.values) } : message(found, [{ ...found, name }, ...scopes]);
  return ref;
}

function message(found, scopes) {
  const properties = {};
  for (const [name, field] of Object.entries(found.fields)) {
    const one = reference(field.type, scopes);
    if (field.keyType) properties[name] = { type: "object", additionalProperties: one };
    else properties[name] = field.rule === "repeated" ? { type: "array", items: one } : one;
  }
  const required = Object.keys(properties).filter((name) => found.fields[name].options?.["(google.api.field_behavior)"] === "REQUIRED");
  return { type: "object", properties, additionalProperties: false, ...(required.length && { required }) };
}

function write(file, name, definitions) {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  const lines = Object.entries(definitions).sort().map(([key, schema]) => `${JSON.stringify(key)}: ${JSON.stringify(schema)}`);
  writeFileSync(`${target}/${file}`, `{"package": "${name}", "version": "${version}", "license": "${license}", "definitions": {\n${lines.join(",\n")}\n}}\n`);
}
